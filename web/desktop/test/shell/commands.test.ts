import { beforeEach, expect, test } from "vitest";
import { Client, firstMonitor, limits, newView, outboxLimits, shownMonitor, type WindowState } from "../../../core/src/index.js";
import { Api } from "../../src/shell/api.js";
import { Commands } from "../../src/shell/commands.js";
import { readPrefs } from "../../src/shell/prefs.js";
import { createShell, type ShellStore } from "../../src/shell/shell.js";

let store: ShellStore;
let client: Client;
let commands: Commands;
let kept: unknown;
let address = "";
let forgotten = false;

beforeEach(() => {
  client = new Client({ url: "http://hub", session: "ses-1", clientId: "tab-1", connect: () => expect.fail("nothing connects") });
  store = createShell({
    session: "ses-1",
    me: { user: "me", roles: ["user"] },
    hub: { version: "test", appsOrigin: "", providers: ["demo"], provider: "demo" },
    view: newView(new URLSearchParams(), null),
    prefs: readPrefs(null),
    language: "en",
    ...client.state,
  });
  const go = (url: string): void => void (address = url);
  const keepPrefs = (p: unknown): void => void (kept = p);
  const api = new Api(() => expect.fail("nothing is fetched"));
  commands = new Commands({ store, client, api, now: () => 1000, go, keepPrefs, forget: () => void (forgotten = true), languages: ["ko"] });
});

const note: WindowState = {
  windowId: "note",
  monitorId: "monitor-1",
  title: "Note",
  bounds: { x: 0, y: 0, w: 100, h: 100 },
  content: { renderer: "text", data: "" },
};

function sent(): unknown[] {
  const { items, notes } = client.state.outbox;
  return [...items, ...notes].map((s) => [s.type, s.data]);
}

function notices(): string[] {
  return store.getState().notices.map((n) => n.text);
}

/** Delivers the list of monitors in the log. */
function monitors(...ids: string[]): void {
  const table = new Map(ids.map((id) => [id, { monitorId: id, state: "idle" as const, queue: 0 }]));
  store.setState({ desktop: { ...store.getState().desktop, monitors: table } });
}

test("a message includes its pictures", () => {
  const id = commands.sendMessage("look", "monitor-1", ["data:image/png;base64,AA=="]);
  const interactions = [{ type: "draw", timestamp: 1000, imageData: "data:image/png;base64,AA==" }];
  expect(sent()).toEqual([["USER_MESSAGE", { content: "look", monitorId: "monitor-1", interactions }]]);
  expect(client.state.outbox.items[0]!.id).toBe(id);
});

test("a window command names the window and its monitor", () => {
  commands.sendComponentAction(note, { action: "save", formId: "f", formData: { a: 1 } });
  commands.placeWindow(note, { x: 5, y: 6, w: 7, h: 8 }, "window.move");
  const moved = { type: "window.move", bounds: { x: 5, y: 6, w: 7, h: 8 }, windowId: "note", windowTitle: "Note", timestamp: 1000 };
  expect(sent()).toEqual([
    ["COMPONENT_ACTION", { action: "save", formId: "f", formData: { a: 1 }, windowId: "note", windowTitle: "Note", monitorId: "monitor-1" }],
    ["USER_INTERACTION", { monitorId: "monitor-1", interactions: [moved] }],
  ]);
});

test("a new monitor gets the first free name, up to the limit, and is shown when it exists", () => {
  monitors("monitor-0", "monitor-2");
  commands.showMonitor("monitor-2");
  expect(commands.addMonitor(limits.monitors)).toBe("monitor-1");
  expect(store.getState().view.monitor).toBe("monitor-2");
  monitors("monitor-0", "monitor-2", "monitor-1");
  expect(store.getState().view.monitor).toBe("monitor-1");
  commands.showMonitor("monitor-0");
  monitors("monitor-0", "monitor-2", "monitor-1", "monitor-3");
  expect(store.getState().view.monitor).toBe("monitor-0");
  expect(commands.addMonitor(limits.monitors)).toBeUndefined();
});

test("a monitor that is created by name is shown when it exists", () => {
  monitors("monitor-0", "monitor-1");
  commands.showMonitor("monitor-1");
  commands.makeMonitor("monitor-3");
  expect(shownMonitor(store.getState().view, store.getState().desktop)).toBe("monitor-1");
  monitors("monitor-0", "monitor-1", "monitor-3");
  expect(store.getState().view.monitor).toBe("monitor-3");
});

test("switching to another monitor meanwhile stays", () => {
  monitors("monitor-0", "monitor-2");
  commands.addMonitor(limits.monitors);
  commands.showMonitor("monitor-2");
  monitors("monitor-0", "monitor-2", "monitor-1");
  expect(store.getState().view.monitor).toBe("monitor-2");
});

test("closing a monitor does not change the shown one, and a closed monitor is no longer shown", () => {
  monitors("monitor-0", "monitor-1", "monitor-2");
  commands.showMonitor("monitor-1");
  commands.removeMonitor("monitor-2");
  expect(shownMonitor(store.getState().view, store.getState().desktop)).toBe("monitor-1");
  commands.removeMonitor("monitor-1");
  monitors("monitor-0");
  expect(shownMonitor(store.getState().view, store.getState().desktop)).toBe(firstMonitor);
});

test("the newest four notices of the page are shown", () => {
  for (const text of ["a", "b", "c", "d", "e"]) commands.notify(text);
  expect(store.getState().notices.map((n) => n.text)).toEqual(["b", "c", "d", "e"]);
  commands.dropNotice(store.getState().notices[1]!.id);
  expect(store.getState().notices.map((n) => n.text)).toEqual(["b", "d", "e"]);
});

test("a command that cannot be sent at once causes one notice", () => {
  commands.stopAll();
  commands.addMonitor(limits.monitors);
  commands.removeMonitor("monitor-1");
  expect(notices()).toEqual([expect.stringContaining("no connection")]);
});

test("in a deleted session the notice says that it is gone", () => {
  Object.assign(client.state, { link: { ...client.state.link, phase: "stopped", code: 4410 } });
  commands.stopAll();
  expect(notices()).toEqual([expect.stringContaining("gone")]);
});

test("a command that the outbox cannot take causes a notice unless its caller shows one", () => {
  for (let i = 0; i < outboxLimits.unanswered; i++) commands.sendMessage("x", firstMonitor);
  expect(commands.sendMessage("x", firstMonitor)).toBeUndefined(); // its caller shows the notice
  expect(notices()).toEqual([]);
  for (const act of [() => commands.stopAgent("main-1"), () => commands.closeWindow(note), () => commands.deleteQueued("m1"), () => commands.dismissToast("t")]) {
    act();
    expect(notices()).toEqual([expect.stringContaining("Too much")]);
    commands.dropNotice(store.getState().notices[0]!.id);
  }
});

test("a preference is stored and applies at once", () => {
  commands.setPrefs({ language: "system" });
  expect(store.getState().language).toBe("ko");
  commands.setPrefs({ language: "en", theme: "light" });
  expect(store.getState().language).toBe("en");
  expect(kept).toEqual(store.getState().prefs);
});

test("signing out removes everything stored", async () => {
  Object.assign(commands.api, { signOut: () => Promise.resolve() });
  await commands.signOut();
  expect([forgotten, address]).toEqual([true, "/"]);
});

test("addresses name the session and the monitor", () => {
  expect(commands.addressOf("monitor-2")).toBe("/?session=ses-1&monitor=monitor-2");
  commands.openSession("a b");
  expect(address).toBe("/?session=a%20b");
});
