import { type BaseEvent, EventType } from "@ag-ui/client";
import { Observable } from "rxjs";

/** For how long a request is repeated whose run has not begun, in milliseconds. */
const startTime = 30_000;
const longestPause = 5_000;

/** Events that close what an event of another type opened: clients reject a run that ends with an open part. */
const ends: Partial<Record<string, [end: EventType, id: "messageId" | "toolCallId" | "stepName"]>> = {
  [EventType.TEXT_MESSAGE_START]: [EventType.TEXT_MESSAGE_END, "messageId"],
  [EventType.TOOL_CALL_START]: [EventType.TOOL_CALL_END, "toolCallId"],
  [EventType.REASONING_START]: [EventType.REASONING_END, "messageId"],
  [EventType.REASONING_MESSAGE_START]: [EventType.REASONING_MESSAGE_END, "messageId"],
  [EventType.STEP_STARTED]: [EventType.STEP_FINISHED, "stepName"],
};

type Fields = BaseEvent & { code?: string; messageId?: string; toolCallId?: string; stepName?: string };

/** Whether the same request would be refused again: it is wrong, or not allowed. */
function isRefusal(reason: unknown): boolean {
  const status = (reason as { status?: number } | undefined)?.status ?? 0;
  return status >= 400 && status < 500 && status !== 408 && status !== 429;
}

/**
 * A stream that begins again after a lost connection, under the same run, until its final event has come. One that
 * follows has many runs and no end.
 */
export function lasting(open: () => Observable<BaseEvent>, signal: AbortSignal, follows = false): Observable<BaseEvent> {
  return new Observable((client) => {
    const parts = new Map<string, BaseEvent>();
    const since = Date.now();
    let hasBegun = false; // some run has
    let isRunning = false;
    let finished = false;
    let attempts = 0;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let stream = { unsubscribe() {} };
    const retry = (reason?: unknown) => {
      if (client.closed) return;
      if (finished && !follows) return client.complete();
      const late = !hasBegun && !follows && Date.now() - since > startTime;
      if (signal.aborted || late || isRefusal(reason)) return client.error(reason ?? new Error("The hub did not answer."));
      for (const end of parts.values()) client.next(end);
      parts.clear();
      timer = setTimeout(begin, Math.min(longestPause, 250 * 2 ** attempts++));
    };
    const next = (event: Fields) => {
      if (event.type === EventType.RUN_ERROR && event.code === "reconnect") return; // the hub stops; another one goes on
      if (event.type === EventType.RUN_STARTED) {
        attempts = 0;
        if (isRunning) return;
        hasBegun = isRunning = true;
      }
      const end = ends[event.type];
      if (end) parts.set(`${end[0]} ${event[end[1]]}`, { type: end[0], [end[1]]: event[end[1]] } as BaseEvent);
      parts.delete(`${event.type} ${event.messageId ?? event.toolCallId ?? event.stepName}`);
      finished = event.type === EventType.RUN_FINISHED || event.type === EventType.RUN_ERROR;
      if (finished) isRunning = false;
      client.next(event);
    };
    const begin = () => {
      stream = open().subscribe({ next, error: retry, complete: () => retry() });
    };
    begin();
    return () => {
      clearTimeout(timer);
      stream.unsubscribe();
    };
  });
}
