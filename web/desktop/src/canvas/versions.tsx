// What a window showed before, from the log of the session.

import "./versions.css";
import { RotateCcw } from "lucide-react";
import { type ReactNode, useEffect, useMemo, useState } from "react";
import { createPortal } from "react-dom";
import type { WindowState } from "../../../core/src/index.js";
import { loadFilm } from "../film/load.js";
import { useFormat, useTexts } from "../i18n/use.js";
import { useCommands, useShell } from "../shell/context.js";
import { windows as texts } from "../texts/windows.js";
import { Button } from "../ui/button.js";
import { Modal } from "../ui/modal.js";
import { WindowBody } from "./body.js";
import { keyOf } from "./stack.js";
import { type Version, versionsOf } from "./window-versions.js";

export default function Versions({ window: w, onClose }: { window: WindowState; onClose: () => void }): ReactNode {
  const t = useTexts(texts);
  const format = useFormat();
  const commands = useCommands();
  const session = useShell((s) => s.session);
  const [versions, setVersions] = useState<readonly Version[]>();
  const [failed, setFailed] = useState(false);
  const [chosen, setChosen] = useState(0);
  useEffect(() => {
    const stop = new AbortController();
    loadFilm(commands.api, session, () => undefined, stop.signal).then(
      (film) => stop.signal.aborted || setVersions(versionsOf(film, keyOf(w))),
      () => stop.signal.aborted || setFailed(true),
    );
    return () => stop.abort();
  }, []);
  const version = versions?.[chosen];
  const shown = useMemo(() => (version === undefined ? undefined : { ...w, title: version.title, content: version.content }), [version]);
  const restore = (): void => {
    if (version === undefined) return;
    const sent = commands.send("EMIT", { actions: [{ type: "window.setContent", windowId: w.windowId, content: version.content }], monitorId: w.monitorId });
    if (sent === undefined) return commands.notify(t.notReopened, "warning");
    commands.notify(t.restored, "success");
    onClose();
  };
  return createPortal(
    <Modal title={t.versionsOf(w.title || t.untitled)} closeLabel={t.close} shape="wide" onClose={onClose}>
      {failed && <p>{t.versionsFailed}</p>}
      {!failed && versions === undefined && <p>{t.versionsLoading}</p>}
      {versions !== undefined && versions.length === 0 && <p>{t.versionsNone}</p>}
      {shown !== undefined && versions !== undefined && (
        <div className="win-versions">
          <ol className="win-versions-list" aria-label={t.versions}>
            {versions.map((v, n) => (
              <li key={v.moment}>
                <button type="button" aria-pressed={n === chosen} onClick={() => setChosen(n)}>
                  <span>{n === 0 ? t.now : format.moment(v.time)}</span>
                </button>
              </li>
            ))}
          </ol>
          <div className="win-versions-view">
            <div className="win-versions-body" inert={shown.content.renderer === "html" || undefined}>
              <WindowBody window={shown} />
            </div>
            <Button icon={RotateCcw} kind="primary" disabled={chosen === 0} onClick={restore}>
              {t.restoreVersion}
            </Button>
          </div>
        </div>
      )}
    </Modal>,
    document.body,
  );
}
