import type { AgentID, ClientState, HubEvent } from "../../../core/src/index.js";
import type { ShellStore } from "./shell.js";

/** Copies the client state into the shell, at most once per animation frame. */
export class StateFollower {
  private readonly store: ShellStore;
  private readonly now: () => number;
  private state: ClientState | undefined;
  /** The agents with events since the last frame and the time of the newest; undefined for completed ones. */
  private readonly heard = new Map<AgentID, number | undefined>();
  private frame = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(store: ShellStore, now: () => number) {
    this.store = store;
    this.now = now;
  }

  update(state: ClientState): void {
    this.state = state;
    this.schedule();
  }

  /** Records the time of an agent's event. */
  recordSign(event: HubEvent): void {
    const agent = "data" in event && "agentId" in event.data ? event.data.agentId : undefined;
    if (agent === undefined || agent === "") return;
    const over = event.type === "AGENT_RESPONSE" && event.data.isComplete;
    this.heard.set(agent, over ? undefined : this.now());
    this.schedule();
  }

  private schedule(): void {
    if (this.timer !== undefined) return;
    // A hidden page gets no animation frames, so a timer runs in any case.
    this.frame = requestAnimationFrame(() => this.flush());
    this.timer = setTimeout(() => this.flush(), 100);
  }

  private flush(): void {
    cancelAnimationFrame(this.frame);
    clearTimeout(this.timer);
    this.timer = undefined;
    const signs = this.heard.size === 0 ? undefined : new Map(this.store.getState().signs);
    for (const [agent, at] of this.heard) {
      if (at === undefined) signs!.delete(agent);
      else signs!.set(agent, at);
    }
    this.heard.clear();
    const { state } = this;
    this.state = undefined;
    this.store.setState({
      ...(signs === undefined ? {} : { signs }),
      ...(state === undefined ? {} : { desktop: state.desktop, link: state.link, outbox: state.outbox, ready: state.ready }),
    });
  }
}
