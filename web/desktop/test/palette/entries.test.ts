import { expect, test } from "vitest";
import { emptyDesktop, type WindowState } from "../../../core/src/index.js";
import { entriesOf } from "../../src/palette/entries.js";
import type { Commands } from "../../src/shell/commands.js";
import type { Shell } from "../../src/shell/shell.js";
import { palette as texts } from "../../src/texts/palette.js";

test("a minimised window is restored as it was, not also un-maximised; guests cannot connect a model", () => {
  const w = { windowId: "w1", monitorId: "monitor-1", title: "Notes", minimized: true, maximized: true } as WindowState;
  const shell = { desktop: { ...emptyDesktop(), windows: new Map([["monitor-1/w1", w]]) }, hub: { providers: [] }, me: { user: "ada", roles: ["user"] }, link: { phase: "live" }, prefs: {}, view: {} } as unknown as Shell;
  const done: string[] = [];
  const commands = {
    showMonitor: (id: string) => done.push(`show ${id}`),
    focusWindow: () => done.push("focus"),
    toggleMinimized: () => done.push("toggle"),
  } as unknown as Commands;
  const all = entriesOf({ shell, commands, t: texts.en, en: texts.en, sessions: [], query: "" });
  all.find((e) => e.group === "windows")!.run();
  expect(done).toEqual(["show monitor-1", "focus"]);
  const connects = (of: Shell): boolean => entriesOf({ shell: of, commands, t: texts.en, en: texts.en, sessions: [], query: "" }).some((e) => e.id === "open.connect");
  const guest = { ...shell, me: { user: "ada", roles: ["user"], session: "ses-1" } };
  expect([connects(shell), connects(guest)], "who can connect a model").toEqual([true, false]);
});
