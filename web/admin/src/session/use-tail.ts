import { useCallback, useEffect, useRef, useState } from "react";
import { tailAddress } from "../api/api.js";
import type { LogEvent } from "../api/types.js";
import { type Link, subscribe } from "../state/live.js";
import { useActions } from "../state/use.js";
import { appendEvents, emptyLog, type Log, setPaused } from "./log.js";

export interface TailQuery {
  readonly after: string;
  readonly type: string;
  readonly agent: string;
  readonly monitor: string;
}

/** Follows a session's log. Another query starts again; after a lost connection it resumes where it was. */
export function useTail(session: string, query: TailQuery): { log: Log; link: Link; pause: (is: boolean) => void } {
  const [log, setLog] = useState(emptyLog);
  const [link, setLink] = useState<Link>("connecting");
  const last = useRef("");
  const { api, markDeleted } = useActions();
  const { after, type, agent, monitor } = query;
  useEffect(() => {
    setLog(emptyLog);
    last.current = after;
    // A whole log arrives at once; it is rendered once per animation frame.
    let pending: LogEvent[] = [];
    let frame = 0;
    const flush = (): void => {
      frame = 0;
      const all = pending;
      pending = [];
      setLog((l) => appendEvents(l, all));
    };
    const stop = subscribe({
      address: tailAddress(session, { after, type, agent, monitor }),
      nextAddress: () => tailAddress(session, { after: last.current, type, agent, monitor }),
      kinds: ["event", "trimmed"],
      onLink: setLink,
      // It does not reconnect if the session was deleted, but does if the hub is unreachable.
      shouldReconnect: async () => {
        const exists = await api.sessionExists(session);
        if (!exists) markDeleted(session);
        return exists;
      },
      onEvent: (kind, data, id) => {
        if (kind === "trimmed") return setLog((l) => ({ ...l, trimmed: true }));
        if (id !== "") last.current = id;
        pending.push(data as LogEvent);
        if (frame === 0) frame = requestAnimationFrame(flush);
      },
    });
    return () => {
      cancelAnimationFrame(frame);
      stop();
    };
  }, [session, after, type, agent, monitor, api, markDeleted]);
  const pause = useCallback((is: boolean) => setLog((l) => setPaused(l, is)), []);
  return { log, link, pause };
}
