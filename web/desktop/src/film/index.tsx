// The time machine: the life of the session as a film. Only this tab sees it; nothing in the session changes until the user goes back
// to a moment.

import "./film.css";
import { X } from "lucide-react";
import { type KeyboardEvent, type ReactNode, useCallback, useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from "react";
import { compareMonitors, firstMonitor, shownMonitor } from "../../../core/src/index.js";
import { useFormat, useTexts } from "../i18n/use.js";
import { useCommands, useShell } from "../shell/context.js";
import { monitorNumber } from "../shell/select.js";
import { film as texts } from "../texts/film.js";
import { Button, IconButton } from "../ui/button.js";
import { CompareButton } from "./compare.js";
import { Controls } from "./controls.js";
import { FilmFiles } from "./file-still.js";
import { GoBack } from "./go-back.js";
import { Conversation, Scene, Stage } from "./scene.js";
import { Share } from "./share.js";
import { filesAt, neighbour } from "./timeline.js";
import { type FilmReel, useFilm } from "./use-film.js";
import { usePlay } from "./use-play.js";

/** The film of the session over the whole page. */
export function FilmPanel(): ReactNode {
  const commands = useCommands();
  const close = useCallback(() => {
    commands.openPanel("");
    const query = new URLSearchParams(location.search);
    if (!query.has("film")) return;
    query.delete("film");
    history.replaceState(null, "", `/?${query}`);
  }, [commands]);
  return (
    <FilmDialog onClose={close}>
      {(reel, position) => (
        <>
          <CompareButton from={reel.marks.findLast((m) => m.moment <= position && m.kind === "checkpoint")?.hash} />
          <GoBack reel={reel} position={position} onGone={close} />
          <Share at={reel.positionAt(position)} />
        </>
      )}
    </FilmDialog>
  );
}

/** What a user can do at a moment besides looking. */
type Tools = (reel: FilmReel, position: number) => ReactNode;

/** The film of the session of the shell. */
export function FilmDialog({ onClose, children }: { onClose: () => void; children?: Tools }): ReactNode {
  const t = useTexts(texts);
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  const reel = useFilm();
  useEffect(() => {
    const el = dialog.current!;
    const before = document.activeElement;
    if (!el.open) el.showModal();
    return () => {
      el.close();
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      className="film"
      aria-labelledby={heading}
      data-film={reel.state}
      onCancel={(e) => {
        e.preventDefault();
        onClose();
      }}
    >
      <header className="film-head">
        <h2 id={heading}>{t.title}</h2>
        {reel.state === "ready" && <span className="film-hint">{t.readOnly}</span>}
        <IconButton icon={X} label={t.close} onClick={onClose} />
      </header>
      {reel.state === "loading" && (
        <p className="film-wait" role="status">
          {t.loading(reel.read)}
        </p>
      )}
      {reel.state === "failed" && (
        <div className="film-wait" role="alert">
          <p>{t.failed(reel.why)}</p>
          <Button onClick={reel.again}>{t.again}</Button>
        </div>
      )}
      {reel.state === "ready" && <Shown reel={reel} tools={children} />}
    </dialog>
  );
}

function Shown({ reel, tools }: { reel: FilmReel; tools: Tools | undefined }): ReactNode {
  const t = useTexts(texts);
  const format = useFormat();
  const begin = useShell((s) => shownMonitor(s.view, s.desktop));
  const [wanted, setWanted] = useState(begin);
  const { position, seek, playing, setPlaying, speed, setSpeed } = usePlay(reel);
  const desktop = reel.desktopAt(position);
  const monitors = useMemo(() => [...desktop.monitors.keys()].sort(compareMonitors), [desktop.monitors]);
  const monitor = desktop.monitors.has(wanted) ? wanted : firstMonitor;
  const slider = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => slider.current!.focus(), []);
  const jump = (back: boolean): void => {
    const mark = neighbour(reel.marks, position, back);
    if (mark !== undefined) seek(mark.moment);
    else if (back) seek(0);
    else seek(reel.last);
  };
  const press = (e: KeyboardEvent): void => {
    if (e.altKey || e.ctrlKey || e.metaKey) return;
    const onSlider = e.target === slider.current;
    const onControl = !onSlider && e.target instanceof Element && e.target.closest("button, select, input") !== null;
    const step = e.shiftKey ? 25 : 1;
    const act: Record<string, () => void> = {
      " ": () => setPlaying(!playing),
      ArrowLeft: () => seek(position - step),
      ArrowRight: () => seek(position + step),
      Home: () => seek(0),
      End: () => seek(reel.last),
      PageUp: () => jump(true),
      PageDown: () => jump(false),
      "+": () => setSpeed(Math.min(32, speed * 2)),
      "-": () => setSpeed(Math.max(1, speed / 2)),
    };
    const run = act[e.key];
    if (run === undefined || onControl) return;
    e.preventDefault();
    run();
  };
  const time = reel.timeAt(position);
  const earlier = reel.isEarlier(position);
  return (
    <div className="film-view" onKeyDown={press} data-film-position={position} data-film-last={reel.last}>
      <div className="film-scene" data-film-at={reel.positionAt(position)}>
        <Scene desktop={desktop} monitor={monitor}>
          <FilmFiles value={filesAt(reel.marks, position)}>
            <Stage />
          </FilmFiles>
          {earlier ? <p className="film-conversation film-note">{t.earlier}</p> : <Conversation />}
        </Scene>
      </div>
      <Controls
        ref={slider}
        reel={reel}
        position={position}
        label={time === undefined ? t.beginning : format.moment(time)}
        playing={playing}
        speed={speed}
        onSeek={seek}
        onPlay={setPlaying}
        onSpeed={setSpeed}
        onJump={jump}
      >
        {monitors.length > 1 && (
          <label className="film-choice">
            {t.monitor}
            <select value={monitor} onChange={(e) => setWanted(e.target.value)}>
              {monitors.map((m) => (
                <option key={m} value={m}>
                  {monitorNumber(m)}
                </option>
              ))}
            </select>
          </label>
        )}
        {tools?.(reel, position)}
      </Controls>
    </div>
  );
}
