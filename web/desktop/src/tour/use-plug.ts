import { useCallback, useEffect, useMemo, useState } from "react";
import { useTexts } from "../i18n/use.js";
import { ApiError } from "../shell/api.js";
import { useCommands, useShell } from "../shell/context.js";
import { useMonitor } from "../shell/select.js";
import { tour as texts } from "../texts/tour.js";
import { advancePlug, answerEnded, answerTo, beginPlug, countWords, type PlugPhase, type PlugRun, plugRequest, type Words } from "./plug.js";

/** The step that kills the hub, as the checklist shows it. */
export interface Plug {
  readonly phase: PlugPhase | undefined;
  readonly note: string | undefined;
  readonly start: () => void;
}

/** How long to wait before the next attempt to kill a hub that has just started, in ms. */
const retryAfter = 500;

/** Whether this hub can be killed by the tour: it would come back, and the demo answers. */
export function useCanPlug(): boolean {
  return useShell((s) => s.hub.canCrash === true && (s.desktop.provider || s.hub.provider) === "demo");
}

/** Performs the step that kills the hub while an answer streams. onDone is called when the answer is complete. */
export function usePlug(onDone: () => void): Plug {
  const t = useTexts(texts);
  const commands = useCommands();
  const monitor = useMonitor();
  const language = useShell((s) => s.language);
  const desktop = useShell((s) => s.desktop);
  const outbox = useShell((s) => s.outbox);
  const live = useShell((s) => s.link.phase === "live");
  const conn = useShell((s) => s.link.conn);
  const [run, setRun] = useState<PlugRun>();

  const message = run?.message;
  const words = useMemo(() => (message === undefined ? undefined : countWords(answerTo(desktop, message))), [desktop, message]);
  useEffect(() => {
    if (run === undefined) return;
    const next = advancePlug(run, { live, conn, words, ended: answerEnded(outbox, desktop, run.message), now: Date.now() });
    if (next === run) return;
    setRun(next);
    if (next.phase !== "done") return;
    onDone();
    // Also as a notice, because the checklist may be collapsed.
    commands.notify(noteOf(t, next, words) ?? "", words?.received === words?.announced ? "success" : "error", 10_000);
  }, [run, live, conn, words, outbox, desktop, onDone, commands, t]);

  const phase = run?.phase;
  useEffect(() => {
    if (phase !== "killing") return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const kill = async (): Promise<void> => {
      try {
        await commands.api.ask("POST", "/api/demo/crash");
      } catch (e) {
        if (!(e instanceof ApiError)) return; // the hub died before its reply arrived
        if (e.status === 429) {
          timer = setTimeout(() => void kill(), retryAfter);
          return;
        }
        commands.notify(e.message, "warning");
        setRun((r) => r && { ...r, phase: "failed" });
      }
    };
    void kill();
    return () => clearTimeout(timer);
  }, [phase, commands]);

  const start = useCallback(() => {
    const id = commands.sendMessage(plugRequest[language], monitor);
    if (id === undefined) commands.notify(t.notSent, "warning");
    else setRun(beginPlug(id));
  }, [commands, language, monitor, t]);
  return { phase, note: run === undefined ? undefined : noteOf(t, run, words), start };
}

/** What the step says about its progress; the numbers are those of this tab. */
function noteOf(t: (typeof texts)["en"], run: PlugRun, words: Words | undefined): string | undefined {
  const { announced, received } = words ?? { announced: 0, received: 0 };
  switch (run.phase) {
    case "writing":
    case "killing":
    case "back":
      return words === undefined ? undefined : t.plugWords(received, announced);
    case "down":
      return t.plugDown(received);
    case "done": {
      const seconds = ((run.backAt - run.lostAt) / 1000).toFixed(1);
      return received > announced ? t.plugTwice(received - announced) : t.plugResult(announced - received, announced, seconds);
    }
    case "failed":
      return undefined;
  }
}
