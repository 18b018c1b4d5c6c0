import { useCallback, useEffect, useRef, useState } from "react";
import { tailAddress } from "../api/api.js";
import type { LogEvent } from "../api/types.js";
import { type Link, listen } from "../state/live.js";
import { useActions } from "../state/use.js";
import { applied, emptyLog, type Log, paused } from "./log.js";

export interface TailQuery {
  readonly after: string;
  readonly type: string;
  readonly agent: string;
  readonly monitor: string;
}

/** Follows a session's log. Another query begins anew; a lost connection goes on where it was. */
export function useTail(session: string, query: TailQuery): { log: Log; link: Link; pause: (is: boolean) => void } {
  const [log, setLog] = useState(emptyLog);
  const [link, setLink] = useState<Link>("connecting");
  const last = useRef("");
  const { api, lose } = useActions();
  const { after, type, agent, monitor } = query;
  useEffect(() => {
    setLog(emptyLog);
    last.current = after;
    // A whole log comes at once; it is shown once per frame.
    let waiting: LogEvent[] = [];
    let frame = 0;
    const flush = (): void => {
      frame = 0;
      const all = waiting;
      waiting = [];
      setLog((l) => applied(l, all));
    };
    const stop = listen({
      address: tailAddress(session, { after, type, agent, monitor }),
      next: () => tailAddress(session, { after: last.current, type, agent, monitor }),
      kinds: ["event", "trimmed"],
      link: setLink,
      // A session that is gone is not waited for; a hub that is away is.
      lost: async () => {
        const there = await api.has(session);
        if (!there) lose(session);
        return there;
      },
      hear: (kind, data, id) => {
        if (kind === "trimmed") return setLog((l) => ({ ...l, trimmed: true }));
        if (id !== "") last.current = id;
        waiting.push(data as LogEvent);
        if (frame === 0) frame = requestAnimationFrame(flush);
      },
    });
    return () => {
      cancelAnimationFrame(frame);
      stop();
    };
  }, [session, after, type, agent, monitor, api, lose]);
  const pause = useCallback((is: boolean) => setLog((l) => paused(l, is)), []);
  return { log, link, pause };
}
