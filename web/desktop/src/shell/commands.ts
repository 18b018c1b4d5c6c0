// Everything that a person can do, for whatever part of the page they do it with: each says it to the hub or changes
// what this tab shows. Nothing here decides how something looks.

import {
  type AgentID,
  type Bounds,
  type Client,
  type ClientPayloads,
  type ComponentAction,
  changeView,
  type DialogID,
  firstMonitor,
  isGone,
  type MessageID,
  type MonitorID,
  type NoticeID,
  type PromptID,
  type RememberChoice,
  type UserInteraction,
  type WindowState,
} from "../../../core/src/index.js";
import { languageOf } from "../i18n/texts.js";
import { shell as texts } from "../texts/entry.js";
import type { Api } from "./api.js";
import type { Prefs } from "./prefs.js";
import type { Notice, Panel, PhonePage, ShellStore } from "./shell.js";

/** What the outside gives to the commands. */
export interface CommandsOptions {
  store: ShellStore;
  client: Client;
  api: Api;
  now: () => number;
  /** Leaves the page for another address of the hub. */
  go: (url: string) => void;
  /** Keeps the prefs for this browser. */
  keepPrefs: (prefs: Prefs) => void;
  /** Takes away what the browser keeps of the person. */
  forget: () => void;
  languages: readonly string[];
}

export class Commands {
  readonly api: Api;
  private readonly o: CommandsOptions;
  private lastNotice = 0;
  /** A monitor that is to be shown when it is there. */
  private wanted: MonitorID | undefined;

  constructor(o: CommandsOptions) {
    this.o = o;
    this.api = o.api;
    o.store.subscribe(({ desktop }, before) => {
      const { wanted } = this;
      if (desktop.monitors !== before.desktop.monitors && wanted !== undefined && desktop.monitors.has(wanted)) this.showMonitor(wanted);
    });
  }

  // --- talking

  /** Sends a text, with pictures as data: URLs, to be answered or to be planned, and gives its id; undefined when too much is unanswered. */
  sendMessage(content: string, monitorId: MonitorID, pictures: readonly string[] = [], plan = false): MessageID | undefined {
    const interactions = pictures.map((imageData): UserInteraction => ({ type: "draw", timestamp: this.o.now(), imageData }));
    return this.send("USER_MESSAGE", { content, monitorId, ...(interactions.length > 0 ? { interactions } : {}), ...(plan ? { mode: "plan" } : {}) });
  }

  /** Says something to the agent of a window. */
  sendToWindow(w: WindowState, content: string): MessageID | undefined {
    return this.send("WINDOW_MESSAGE", { windowId: w.windowId, monitorId: w.monitorId, content });
  }

  /** A press on a button in a window. */
  sendComponentAction(w: WindowState, press: Omit<ComponentAction, "windowId" | "windowTitle" | "monitorId">): MessageID | undefined {
    return this.send("COMPONENT_ACTION", { ...press, windowId: w.windowId, windowTitle: w.title, monitorId: w.monitorId });
  }

  /** Takes back a message that waits. */
  deleteQueued(messageId: MessageID): void {
    this.sendWhenConnected("DELETE_QUEUED_MESSAGE", { messageId });
  }

  /** Takes back a row and all that followed from it, if the conversation is still the one that was looked at. */
  rewind(ts: number, monitorId: MonitorID): MessageID | undefined {
    return this.send("REWIND", { ts, monitorId, revision: this.revisionOf(monitorId) });
  }

  /** Says something else in the place of a row of the person, and takes back what followed from it. */
  edit(ts: number, monitorId: MonitorID, text: string, images: readonly string[]): MessageID | undefined {
    const pictures = images.length > 0 ? { images: [...images] } : {};
    return this.send("EDIT_MESSAGE", { ts, monitorId, text, ...pictures, revision: this.revisionOf(monitorId) });
  }

  /** Has the model's history of a monitor summed up. What comes of it is a row. */
  condense(monitorId: MonitorID): void {
    this.sendWhenConnected("CONDENSE", { monitorId });
  }

  /** How often the conversation of a monitor was rewound, as far as this page shows it. */
  private revisionOf(monitorId: MonitorID): number {
    return this.o.store.getState().desktop.monitors.get(monitorId)?.revision ?? 0;
  }

  stopAgent(agentId: AgentID): void {
    this.sendWhenConnected("INTERRUPT_AGENT", { agentId });
  }

  stopMonitor(monitorId: MonitorID): void {
    this.sendWhenConnected("INTERRUPT", { scope: "monitor", monitorId });
  }

  stopAll(): void {
    this.sendWhenConnected("INTERRUPT", { scope: "session" });
  }

  reset(): void {
    this.sendWhenConnected("RESET", {});
  }

  setProvider(provider: string): void {
    this.sendWhenConnected("SET_PROVIDER", { provider });
  }

  /** Says anything else to the hub; for what only one part of the page says. */
  send<T extends keyof ClientPayloads>(type: T, data: ClientPayloads[T]): MessageID | undefined {
    return this.o.client.send(type, data);
  }

  /** Sends what nobody waits for; the person is told when it cannot be taken. */
  private sendOrWarn<T extends keyof ClientPayloads>(type: T, data: ClientPayloads[T]): boolean {
    const taken = this.send(type, data) !== undefined;
    if (!taken) this.notifyOnce(this.words.full);
    return taken;
  }

  /** Sends what is to be done at once; the person is told when that cannot be. */
  private sendWhenConnected<T extends keyof ClientPayloads>(type: T, data: ClientPayloads[T]): void {
    const { link } = this.o.client.state;
    if (this.sendOrWarn(type, data) && link.phase !== "live") this.notifyOnce(isGone(link) ? this.words.gone : this.words.later);
  }

  private get words(): typeof texts.en {
    return texts[this.o.store.getState().language];
  }

  // --- answering

  answerDialog(dialogId: DialogID, confirmed: boolean, rememberChoice?: RememberChoice): MessageID | undefined {
    return this.send("DIALOG_FEEDBACK", { dialogId, confirmed, ...(rememberChoice === undefined ? {} : { rememberChoice }) });
  }

  answerPrompt(promptId: PromptID, answer: { selectedValues?: string[]; text?: string; dismissed?: boolean }): MessageID | undefined {
    return this.send("USER_PROMPT_RESPONSE", { promptId, ...answer });
  }

  // --- windows; what they become is for the hub to say

  focusWindow(w: WindowState): void {
    this.sendInteraction(w, { type: "window.focus" });
  }

  closeWindow(w: WindowState): void {
    this.sendInteraction(w, { type: "window.close" });
  }

  /** Minimises a window, or brings a minimised one back. */
  toggleMinimized(w: WindowState): void {
    this.sendInteraction(w, { type: "window.minimize" });
  }

  toggleMaximized(w: WindowState): void {
    this.sendInteraction(w, { type: "window.maximize" });
  }

  /** Tells where a window is; often, while it is dragged. */
  placeWindow(w: WindowState, bounds: Bounds, how: "window.move" | "window.resize"): void {
    this.sendInteraction(w, { type: how, bounds });
  }

  private sendInteraction(w: WindowState, what: Pick<UserInteraction, "type" | "bounds">): void {
    const interaction = { ...what, windowId: w.windowId, windowTitle: w.title, timestamp: this.o.now() };
    this.sendOrWarn("USER_INTERACTION", { monitorId: w.monitorId, interactions: [interaction] });
  }

  // --- notices

  dismissToast(id: NoticeID): void {
    this.dismiss("toast.dismiss", id);
  }

  dismissNotification(id: NoticeID): void {
    this.dismiss("notification.dismiss", id);
  }

  private dismiss(type: UserInteraction["type"], id: NoticeID): void {
    this.sendOrWarn("USER_INTERACTION", { interactions: [{ type, windowId: id, timestamp: this.o.now() }] });
  }

  pressToast(toastId: NoticeID, eventId: string): void {
    this.sendWhenConnected("TOAST_ACTION", { toastId, eventId });
  }

  /** Says something in this tab only, for as many ms. */
  notify(text: string, tone: Notice["tone"] = "info", ms = 4000): void {
    const id = ++this.lastNotice;
    const notice = { id, text, tone, until: this.o.now() + ms };
    this.o.store.setState((s) => ({ notices: [...s.notices.slice(-3), notice] }));
  }

  /** The same, unless it is being said. */
  private notifyOnce(text: string): void {
    if (!this.o.store.getState().notices.some((n) => n.text === text)) this.notify(text, "warning", 6000);
  }

  dropNotice(notice: number): void {
    this.o.store.setState((s) => ({ notices: s.notices.filter((n) => n.id !== notice) }));
  }

  // --- monitors

  showMonitor(monitor: MonitorID): void {
    this.wanted = undefined;
    this.o.store.setState((s) => ({ view: changeView(s.view, { type: "monitor", monitor }) }));
  }

  /** Makes a monitor and shows it when it is there. Gives its id, or undefined when there are as many as there may be. */
  addMonitor(most: number, show = true): MonitorID | undefined {
    const { monitors } = this.o.store.getState().desktop;
    for (let i = 0; i < most; i++) {
      const id: MonitorID = `monitor-${i}`;
      if (monitors.has(id)) continue;
      this.makeMonitor(id, show);
      return id;
    }
    return undefined;
  }

  /** Makes a monitor of that name, and shows it when it is there. */
  makeMonitor(monitorId: MonitorID, show = true): void {
    this.sendWhenConnected("SUBSCRIBE_MONITOR", { monitorId });
    if (show) this.wanted = monitorId;
  }

  removeMonitor(monitorId: MonitorID): void {
    this.sendWhenConnected("REMOVE_MONITOR", { monitorId });
    if (this.o.store.getState().view.monitor === monitorId) this.showMonitor(firstMonitor);
  }

  /** Opens a monitor in a tab of its own, to be put on another screen. */
  detachMonitor(monitor: MonitorID): void {
    window.open(this.addressOf(monitor), "_blank", "noopener");
  }

  addressOf(monitor?: MonitorID): string {
    const query = new URLSearchParams({ session: this.o.store.getState().session });
    if (monitor !== undefined) query.set("monitor", monitor);
    return `/?${query}`;
  }

  // --- the page

  openPanel(panel: Panel): void {
    this.o.store.setState({ panel });
  }

  /** Opens a panel, or closes it when it is the one that is open. */
  togglePanel(panel: Panel): void {
    this.o.store.setState((s) => ({ panel: s.panel === panel ? "" : panel }));
  }

  showDrawer(open: boolean): void {
    this.o.store.setState((s) => ({ view: changeView(s.view, { type: "drawer", open }) }));
  }

  showPlan(planOpen: boolean): void {
    this.o.store.setState({ planOpen });
  }

  /** Chooses whether the next message is to be planned first. */
  setPlanFirst(planFirst: boolean): void {
    this.o.store.setState({ planFirst });
  }

  /** Puts a question in front, also one that was put off. */
  showAsk(askWanted: string): void {
    this.o.store.setState({ askWanted });
  }

  showPhonePage(phonePage: PhonePage): void {
    this.o.store.setState({ phonePage });
  }

  showTour(tour: boolean): void {
    this.o.store.setState({ tour });
    if (!tour) this.setPrefs({ toured: true });
  }

  setPrefs(part: Partial<Prefs>): void {
    const prefs = { ...this.o.store.getState().prefs, ...part };
    this.o.keepPrefs(prefs);
    this.o.store.setState({ prefs, language: languageOf(prefs.language, this.o.languages) });
  }

  retryLink(): void {
    this.o.client.retry();
  }

  openSession(id: string): void {
    this.o.go(`/?session=${encodeURIComponent(id)}`);
  }

  async newSession(title: string): Promise<void> {
    this.openSession((await this.api.createSession(title)).sessionId);
  }

  async rename(title: string): Promise<void> {
    await this.api.renameSession(this.o.store.getState().session, title);
  }

  async signOut(): Promise<void> {
    await this.api.signOut();
    this.o.forget();
    this.o.go("/");
  }
}
