import { type BaseEvent, EventType, HttpAgent, type RunAgentInput, runHttpRequest, transformHttpEventStream } from "@ag-ui/client";
import { Observable } from "rxjs";

/** Where the hub is, which thread of the user to show, and the headers of its requests. */
export interface Place {
  hub: string;
  threadId: string;
  headers?: Record<string, string>;
}

/** Events that close what an event of another type opened: clients reject a run that ends with an open part. */
const ends: Partial<Record<string, [end: EventType, id: "messageId" | "toolCallId" | "stepName"]>> = {
  [EventType.TEXT_MESSAGE_START]: [EventType.TEXT_MESSAGE_END, "messageId"],
  [EventType.TOOL_CALL_START]: [EventType.TOOL_CALL_END, "toolCallId"],
  [EventType.REASONING_START]: [EventType.REASONING_END, "messageId"],
  [EventType.REASONING_MESSAGE_START]: [EventType.REASONING_MESSAGE_END, "messageId"],
  [EventType.STEP_STARTED]: [EventType.STEP_FINISHED, "stepName"],
};

type Fields = BaseEvent & { code?: string; messageId?: string; toolCallId?: string; stepName?: string };

/**
 * An HttpAgent for a session of Everdesk. connect() shows the conversation and the turn that runs, which HttpAgent
 * itself cannot. A run goes on after a lost connection: the same request is sent again, the hub executes nothing twice
 * and sends what the client has missed.
 */
export class EverdeskAgent extends HttpAgent {
  constructor(private readonly place: Place) {
    super({ url: `${place.hub}/agui/agent/desktop/run`, threadId: place.threadId, headers: place.headers });
  }

  override run(input: RunAgentInput): Observable<BaseEvent> {
    return this.lasting(() => super.run(input));
  }

  override connect(input: RunAgentInput): Observable<BaseEvent> {
    const url = `${this.place.hub}/agui/agent/desktop/connect`;
    return this.lasting(() => transformHttpEventStream(runHttpRequest(() => fetch(url, this.requestInit(input)))));
  }

  override clone(): this {
    const copy = super.clone();
    return Object.assign(copy, { place: this.place });
  }

  /** A stream that begins again, under the same run, until its final event has come. */
  private lasting(open: () => Observable<BaseEvent>): Observable<BaseEvent> {
    return new Observable((client) => {
      const parts = new Map<string, BaseEvent>();
      let started = false;
      let finished = false;
      let attempts = 0;
      let timer: ReturnType<typeof setTimeout> | undefined;
      let stream = { unsubscribe() {} };
      const retry = (reason?: unknown) => {
        if (finished || client.closed || this.abortController.signal.aborted || (!started && attempts > 0)) {
          return reason && !finished ? client.error(reason) : client.complete();
        }
        for (const end of parts.values()) client.next(end);
        parts.clear();
        timer = setTimeout(begin, Math.min(5000, 250 * 2 ** attempts++));
      };
      const next = (event: Fields) => {
        if (event.type === EventType.RUN_ERROR && event.code === "reconnect") return; // the hub stops; another one goes on
        if (event.type === EventType.RUN_STARTED) {
          attempts = 0;
          if (started) return;
          started = true;
        }
        const end = ends[event.type];
        if (end) parts.set(`${end[0]} ${event[end[1]]}`, { type: end[0], [end[1]]: event[end[1]] } as BaseEvent);
        const name = event.messageId ?? event.toolCallId ?? event.stepName;
        parts.delete(`${event.type} ${name}`);
        finished = event.type === EventType.RUN_FINISHED || event.type === EventType.RUN_ERROR;
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
}
