import { type AgentSubscriber, type BaseEvent, EventType, HttpAgent, type Interrupt, type Message, type RunAgentInput, type RunAgentParameters, type RunAgentResult, runHttpRequest, transformHttpEventStream } from "@ag-ui/client";
import { EMPTY, Observable, of, ReplaySubject, tap } from "rxjs";
import { lasting } from "./lasting.js";

/** Where the hub is, which thread of the user to show, and the headers of its requests. */
export interface Place {
  hub: string;
  threadId: string;
  headers?: Record<string, string>;
}

type Fields = BaseEvent & { runId?: string; messageId?: string; messages?: Message[]; outcome?: { interrupts?: Interrupt[] } };

/** The pause between a run of this client and the stream with those of others: one run often follows another. */
const idleTime = 250;

/** Events that say how the session is, not what a turn does. */
const stateful: string[] = [EventType.RUN_STARTED, EventType.STATE_SNAPSHOT, EventType.STATE_DELTA, EventType.MESSAGES_SNAPSHOT];

/**
 * An HttpAgent for a session of Everdesk. connect() shows the conversation and the turn that runs, which HttpAgent
 * itself cannot, and follow() the turns that other clients begin. A run goes on after a lost connection: the same
 * request is sent again, the hub executes nothing twice and sends what the client has missed.
 */
export class EverdeskAgent extends HttpAgent {
  /** Shows the run in `next`, by calling connectAgent(). Set while the agent follows. */
  private show: (() => Promise<unknown>) | undefined;
  private next: Observable<BaseEvent> | undefined;
  private runs = 0; // that this client has begun and that have not ended
  /** The message that waits, or began the turn that is shown, if this client knows it. */
  private message: string | undefined;
  private stopWatching = () => {};

  constructor(private readonly place: Place) {
    super({ url: `${place.hub}/agui/agent/desktop/run`, threadId: place.threadId, headers: place.headers });
  }

  /**
   * Sends a message that is typed while a question is open, for which HttpAgent wants an answer first. If the question
   * wants words, the message is the answer; a permission is never given so, and its question stays.
   */
  override runAgent(parameters: RunAgentParameters = {}, subscriber?: AgentSubscriber): Promise<RunAgentResult> {
    const message = this.messages.at(-1);
    if (parameters.resume || message?.role !== "user") return super.runAgent(parameters, subscriber);
    const [question, another] = this.pendingInterrupts;
    const { text, value } = (question?.responseSchema?.properties ?? {}) as { text?: object; value?: object };
    if (!question || another || typeof message.content !== "string" || !(text || value)) {
      this.pendingInterrupts = [];
      return super.runAgent(parameters, subscriber);
    }
    this.setMessages(this.messages.slice(0, -1));
    const payload = value ? { value: message.content } : { text: message.content };
    return super.runAgent({ ...parameters, resume: [{ interruptId: question.id, status: "resolved", payload }] }, subscriber);
  }

  override run(input: RunAgentInput): Observable<BaseEvent> {
    const answers = (input.resume?.length ?? 0) > 0 || input.messages.at(-1)?.role !== "user";
    if (!answers) this.message = input.runId; // answers go on with the same turn
    return this.alone(lasting(() => super.run(input), this.abortController.signal).pipe(tap((event) => this.rememberTurn(event))));
  }

  override connect(input: RunAgentInput): Observable<BaseEvent> {
    if (this.runs > 0) return EMPTY; // begun meanwhile
    const next = this.next;
    this.next = undefined;
    const { signal } = this.abortController;
    if (!next) this.message = undefined;
    return next ?? this.alone(lasting(() => this.open(input, signal), signal).pipe(tap((event) => this.rememberTurn(event))));
  }

  /**
   * Interrupts the turn, which ends its run, or removes its message from the queue. Closing the connection would do
   * neither. A turn whose message is not known is stopped if this user began it.
   */
  override abortRun(): void {
    const run = this.message === undefined ? "" : `?run=${encodeURIComponent(this.message)}`;
    const url = `${this.place.hub}/agui/agent/desktop/stop/${encodeURIComponent(this.threadId)}${run}`;
    this.fetch(url, { method: "POST", headers: this.headers }).then(
      (answer) => answer.ok || super.abortRun(),
      () => super.abortRun(),
    );
  }

  /** The text of a turn is named after the message that began it, which a message that joins a turn did not. */
  private rememberTurn({ messageId }: Fields): void {
    if (messageId?.endsWith(".text")) this.message = messageId.slice(0, -".text".length);
  }

  override clone(): this {
    const copy = super.clone();
    return Object.assign(copy, { place: this.place, message: this.message, runs: 0, stopWatching: () => {} }) as this;
  }

  /**
   * Shows the turns that other clients begin while this one has no run, until the returned function is called. show is
   * called for each of them and calls connectAgent().
   */
  follow(show: () => Promise<unknown> = () => this.connectAgent()): () => void {
    this.show = show;
    this.watchSoon();
    return () => {
      this.show = undefined;
      this.stopWatching();
    };
  }

  private open(input: RunAgentInput, signal: AbortSignal): Observable<BaseEvent> {
    const url = `${this.place.hub}/agui/agent/desktop/connect`;
    return transformHttpEventStream(runHttpRequest(() => this.fetch(url, { ...this.requestInit(input), signal })));
  }

  /** A run of this client, beside which it does not follow others. */
  private alone(run: Observable<BaseEvent>): Observable<BaseEvent> {
    return new Observable((client) => {
      this.runs++;
      this.stopWatching();
      const stream = run.subscribe(client);
      return () => {
        stream.unsubscribe();
        this.runs--;
        this.watchSoon();
      };
    });
  }

  private watchSoon(): void {
    this.stopWatching();
    const timer = setTimeout(() => this.show && this.runs === 0 && this.watch(), idleTime);
    this.stopWatching = () => clearTimeout(timer);
  }

  /**
   * Follows the session on a stream of its own. Its runs with the id of the request say how the session is, at the
   * beginning and after changes between turns; a turn that runs follows the first of them. The others are turns.
   */
  private watch(): void {
    const closed = new AbortController();
    const input = this.prepareRunAgentInput({ forwardedProps: { everdesk: { follow: true } } });
    let held: Fields[] = []; // a run with the id of the request, until it is clear what it is
    let shown: ReplaySubject<BaseEvent> | undefined;
    const take = (event: Fields) => {
      if (!shown) {
        held.push(event);
        const isTurn = held[0]?.runId !== input.runId;
        if (!isTurn && stateful.includes(event.type)) return;
        const run = held;
        held = [];
        if (!isTurn && event.type === EventType.RUN_FINISHED && !this.isNews(run)) return this.applyState(run);
        this.pendingInterrupts = []; // answered elsewhere, unless the run ends with them
        this.message = isTurn ? run[0]?.runId : undefined;
        this.next = shown = new ReplaySubject();
        for (const e of run) shown.next(e);
        void this.show?.();
      } else shown.next(event);
      if (event.type !== EventType.RUN_FINISHED && event.type !== EventType.RUN_ERROR) return;
      shown.complete();
      shown = undefined;
    };
    const stream = lasting(() => this.open(input, closed.signal), closed.signal, true).subscribe({ next: take, error: () => shown?.complete() });
    this.stopWatching = () => {
      closed.abort();
      stream.unsubscribe();
      shown?.complete();
      this.next = undefined;
    };
  }

  /** Whether a run has a message or a question that this client has not, or ends one of its questions. */
  private isNews(run: Fields[]): boolean {
    const ids = (all: Interrupt[] = []) => all.map((i) => i.id).sort().join(" ");
    const content = (m: Message) => JSON.stringify([m.role === "tool" ? m.toolCallId : m.id, m.content ?? "", m.role === "assistant" ? (m.toolCalls ?? []) : []]);
    const known = new Set(this.messages.map(content));
    return ids(run.at(-1)?.outcome?.interrupts) !== ids(this.pendingInterrupts) || run.some((e) => e.messages?.some((m) => !known.has(content(m))));
  }

  /** Takes the state of the desktop from a run, without showing the run. */
  private applyState(run: Fields[]): void {
    const input = this.prepareRunAgentInput();
    const events = run.filter((e) => e.type === EventType.STATE_SNAPSHOT || e.type === EventType.STATE_DELTA);
    this.processApplyEvents(input, this.apply(input, of(...events), this.subscribers), this.subscribers).subscribe();
  }
}
