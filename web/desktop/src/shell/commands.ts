// The commands of the page. Each sends a message to the hub or changes the view of this tab. Commands are independent of the
// component that runs them and of its looks.

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
  type Viewer,
  type WindowState,
} from "../../../core/src/index.js";
import { languageOf } from "../i18n/texts.js";
import { shell as texts } from "../texts/entry.js";
import { type Account, accountOf } from "./account.js";
import type { Api, SettingValues } from "./api.js";
import type { Prefs } from "./prefs.js";
import type { Notice, Panel, PhonePage, ShellStore } from "./shell.js";

/** The dependencies of the commands. */
export interface CommandsOptions {
  store: ShellStore;
  client: Client;
  api: Api;
  now: () => number;
  /** Navigates to another address of the hub. */
  go: (url: string) => void;
  /** Stores the prefs of this browser. */
  keepPrefs: (prefs: Prefs) => void;
  /** Deletes the user's data from the browser storage. */
  forget: () => void;
  languages: readonly string[];
  /** Describes the screen of this tab. */
  viewer?: () => Viewer;
}

/** A command on all windows of the shown monitor. */
export type WindowsAction = "tidy" | "overview" | "undo" | "reopen" | "closeAll" | "newNote";

export class Commands {
  readonly api: Api;
  /** Runs a command on the windows; absent while no canvas is drawn. */
  runOnWindows: ((action: WindowsAction) => void) | undefined;
  private readonly o: CommandsOptions;
  private lastNotice = 0;
  /** The monitor to show as soon as it exists. */
  private wanted: MonitorID | undefined;

  constructor(o: CommandsOptions) {
    this.o = o;
    this.api = o.api;
    o.store.subscribe(({ desktop }, before) => {
      const { wanted } = this;
      if (desktop.monitors !== before.desktop.monitors && wanted !== undefined && desktop.monitors.has(wanted)) this.showMonitor(wanted);
    });
  }

  // --- messages

  /** Sends a text with pictures as data: URLs, to be answered or planned. Returns its id; undefined when too many messages are unanswered. */
  sendMessage(content: string, monitorId: MonitorID, pictures: readonly string[] = [], plan = false): MessageID | undefined {
    const interactions = pictures.map((imageData): UserInteraction => ({ type: "draw", timestamp: this.o.now(), imageData }));
    return this.send("USER_MESSAGE", { content, monitorId, ...(interactions.length > 0 ? { interactions } : {}), ...(plan ? { mode: "plan" } : {}), ...this.viewer() });
  }

  /** Sends a message to the agent of a window. */
  sendToWindow(w: WindowState, content: string): MessageID | undefined {
    return this.send("WINDOW_MESSAGE", { windowId: w.windowId, monitorId: w.monitorId, content, ...this.viewer() });
  }

  /** Sends the press of a button in a window. */
  sendComponentAction(w: WindowState, press: Omit<ComponentAction, "windowId" | "windowTitle" | "monitorId">): MessageID | undefined {
    return this.send("COMPONENT_ACTION", { ...press, windowId: w.windowId, windowTitle: w.title, monitorId: w.monitorId, ...this.viewer() });
  }

  /** The screen of this tab, which is sent with messages so that agents get it. */
  private viewer(): { viewer?: Viewer } {
    return this.o.viewer === undefined ? {} : { viewer: this.o.viewer() };
  }

  /** Deletes a queued message. */
  deleteQueued(messageId: MessageID): void {
    this.sendWhenConnected("DELETE_QUEUED_MESSAGE", { messageId });
  }

  /** Rewinds the conversation to before a row, with files and windows if wanted. The hub refuses if the conversation was rewound since this page showed it. */
  rewind(ts: number, monitorId: MonitorID, restoreCheckpoint = false): MessageID | undefined {
    return this.send("REWIND", { ts, monitorId, ...(restoreCheckpoint ? { restoreCheckpoint } : {}), revision: this.revisionOf(monitorId) });
  }

  /** Replaces a message of the user and rewinds what followed from it. */
  edit(ts: number, monitorId: MonitorID, text: string, images: readonly string[]): MessageID | undefined {
    const pictures = images.length > 0 ? { images: [...images] } : {};
    return this.send("EDIT_MESSAGE", { ts, monitorId, text, ...pictures, revision: this.revisionOf(monitorId) });
  }

  /** Condenses the model history of a monitor. The result arrives as a row. */
  condense(monitorId: MonitorID): void {
    this.sendWhenConnected("CONDENSE", { monitorId });
  }

  /** The revision of the conversation that this page shows: the number of its rewinds. */
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

  /** Chooses the model profile or the provider of this session. */
  setProvider(provider: string): void {
    this.sendWhenConnected("SET_PROVIDER", { provider });
  }

  /** Reads the model profiles of the user. */
  async loadModels(): Promise<void> {
    this.o.store.setState({ models: await this.api.modelProfiles() });
  }

  /** Chooses the mode of agents in this session; an empty one chooses none. */
  setMode(mode: string): void {
    this.sendWhenConnected("SET_MODE", { mode });
  }

  /** Reads the modes of the user, and whose session this is. */
  async loadModes(): Promise<void> {
    const { me, session } = this.o.store.getState();
    const [modes, card] = await Promise.all([this.api.modes(), this.api.session(session)]);
    this.o.store.setState({ modes, ownSession: card.user === me.user });
  }

  /** Reads the settings of the user that the page uses. */
  async loadAccount(): Promise<void> {
    this.showAccount(accountOf(await this.api.settingValues()));
  }

  /** Changes one of these settings, at once on this page. Guests change the looks of this browser only. */
  async changeAccount<K extends keyof Account>(name: K, value: Account[K]): Promise<void> {
    const { account } = this.o.store.getState();
    if (account === undefined) {
      if (name === "wallpaper") this.setPrefs({ wallpaper: value as Account["wallpaper"] });
      if (name === "accentColor") this.setPrefs({ accent: value as Account["accentColor"] });
      return;
    }
    this.showAccount({ ...account, [name]: value });
    const { refused } = await this.api.ask<SettingValues>("PATCH", "/api/settings/values", { values: { [name]: value } });
    if (refused === undefined || refused.length === 0) return;
    this.notify(refused[0]!.detail, "warning");
    await this.loadAccount();
  }

  private showAccount(account: Account): void {
    this.o.store.setState({ account });
    const { wallpaper, accentColor: accent } = account;
    const { prefs } = this.o.store.getState();
    if (prefs.wallpaper !== wallpaper || prefs.accent !== accent) this.setPrefs({ wallpaper, accent });
  }

  /** Sends any other message, for types that only one component uses. */
  send<T extends keyof ClientPayloads>(type: T, data: ClientPayloads[T]): MessageID | undefined {
    return this.o.client.send(type, data);
  }

  /** Sends a message without waiting for its reply, and shows a notice if the outbox is full. */
  private sendOrWarn<T extends keyof ClientPayloads>(type: T, data: ClientPayloads[T]): boolean {
    const taken = this.send(type, data) !== undefined;
    if (!taken) this.notifyOnce(this.words.full);
    return taken;
  }

  /** Sends a message whose effect the user expects at once, and shows a notice if it has to wait or cannot be sent. */
  private sendWhenConnected<T extends keyof ClientPayloads>(type: T, data: ClientPayloads[T]): void {
    const { link } = this.o.client.state;
    if (this.sendOrWarn(type, data) && link.phase !== "live") this.notifyOnce(isGone(link) ? this.words.gone : this.words.later);
  }

  private get words(): typeof texts.en {
    return texts[this.o.store.getState().language];
  }

  // --- answers

  answerDialog(dialogId: DialogID, confirmed: boolean, rememberChoice?: RememberChoice): MessageID | undefined {
    return this.send("DIALOG_FEEDBACK", { dialogId, confirmed, ...(rememberChoice === undefined ? {} : { rememberChoice }) });
  }

  answerPrompt(promptId: PromptID, answer: { selectedValues?: string[]; text?: string; dismissed?: boolean }): MessageID | undefined {
    return this.send("USER_PROMPT_RESPONSE", { promptId, ...answer });
  }

  // --- windows; the hub decides on the result

  focusWindow(w: WindowState): void {
    this.sendInteraction(w, { type: "window.focus" });
  }

  closeWindow(w: WindowState): void {
    this.closeWindows([w]);
  }

  /** Closes windows of one monitor. */
  closeWindows(windows: readonly WindowState[]): void {
    if (windows.length === 0) return;
    const interactions = windows.map((w): UserInteraction => ({ type: "window.close", windowId: w.windowId, windowTitle: w.title, timestamp: this.o.now() }));
    this.sendOrWarn("USER_INTERACTION", { monitorId: windows[0]!.monitorId, interactions });
  }

  /** Minimises a window, or restores a minimised one. */
  toggleMinimized(w: WindowState): void {
    this.sendInteraction(w, { type: "window.minimize" });
  }

  toggleMaximized(w: WindowState): void {
    this.sendInteraction(w, { type: "window.maximize" });
  }

  /** Sends the bounds of a window; repeatedly during a drag. */
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

  /** Shows a notice in this tab only, for ms milliseconds, with a button if there is an action. */
  notify(text: string, tone: Notice["tone"] = "info", ms = 4000, action?: Notice["action"]): void {
    const id = ++this.lastNotice;
    const notice = { id, text, tone, until: this.o.now() + ms, ...(action === undefined ? {} : { action }) };
    // A new offer replaces the one before, which was about something older.
    const others = (notices: readonly Notice[]): readonly Notice[] => (action === undefined ? notices : notices.filter((n) => n.action === undefined));
    this.o.store.setState((s) => ({ notices: [...others(s.notices).slice(-3), notice] }));
  }

  /** Shows a notice unless the same one is visible. */
  private notifyOnce(text: string): void {
    if (!this.o.store.getState().notices.some((n) => n.text === text)) this.notify(text, "warning", 6000);
  }

  /** Removes the notices that offer something, once it is no longer to be had. */
  dropOffers(): void {
    this.o.store.setState((s) => ({ notices: s.notices.filter((n) => n.action === undefined) }));
  }

  dropNotice(notice: number): void {
    this.o.store.setState((s) => ({ notices: s.notices.filter((n) => n.id !== notice) }));
  }

  // --- monitors

  showMonitor(monitor: MonitorID): void {
    this.wanted = undefined;
    this.o.store.setState((s) => ({ view: changeView(s.view, { type: "monitor", monitor }) }));
  }

  /** Adds a monitor with the first free id and shows it once it exists. Returns its id; undefined at the limit. */
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

  /** Adds a monitor of this id and shows it once it exists. */
  makeMonitor(monitorId: MonitorID, show = true): void {
    this.sendWhenConnected("SUBSCRIBE_MONITOR", { monitorId });
    if (show) this.wanted = monitorId;
  }

  removeMonitor(monitorId: MonitorID): void {
    this.sendWhenConnected("REMOVE_MONITOR", { monitorId });
    if (this.o.store.getState().view.monitor === monitorId) this.showMonitor(firstMonitor);
  }

  /** Opens a monitor in a separate tab, for another screen. */
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

  /** Opens a panel, or closes it if it is open. */
  togglePanel(panel: Panel): void {
    this.o.store.setState((s) => ({ panel: s.panel === panel ? "" : panel }));
  }

  showDrawer(open: boolean): void {
    this.o.store.setState((s) => ({ view: changeView(s.view, { type: "drawer", open }) }));
  }

  showPlan(planOpen: boolean): void {
    this.o.store.setState({ planOpen });
  }

  /** Sets whether the next message is planned first. */
  setPlanFirst(planFirst: boolean): void {
    this.o.store.setState({ planFirst });
  }

  /** Shows a question, even a postponed one. */
  showAsk(askWanted: string): void {
    this.o.store.setState({ askWanted });
  }

  showPhonePage(phonePage: PhonePage): void {
    this.o.store.setState({ phonePage });
  }

  showTour(tour: boolean): void {
    this.o.store.setState({ tour });
    if (tour) return;
    this.setPrefs({ toured: true });
    const steps = this.o.store.getState().account?.tourSteps;
    if (steps?.includes("closed") === false) void this.changeAccount("tourSteps", [...steps, "closed"]).catch(() => undefined);
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
