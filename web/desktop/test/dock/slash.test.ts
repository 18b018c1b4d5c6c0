import { describe, expect, test } from "vitest";
import { isForAgent, parseSlash, planIn, slashNames, suggest } from "../../src/dock/slash.js";

const world = { providers: ["demo", "anthropic"], modes: ["code", "mine"], monitors: 4, account: true };

describe("parseSlash", () => {
  test.each([
    ["/stop", { name: "stop", all: false }],
    ["/stop all", { name: "stop", all: true }],
    ["/reset", { name: "reset" }],
    ["/new My notes", { name: "new", title: "My notes" }],
    ["/new", { name: "new", title: "" }],
    ["/provider anthropic", { name: "provider", provider: "anthropic" }],
    ["/provider none", { name: "provider", wrong: "none" }],
    ["/provider", { name: "provider", wrong: "" }],
    ["/mode mine", { name: "mode", mode: "mine" }],
    ["/mode none", { name: "mode", mode: "" }],
    ["/mode other", { name: "mode", wrong: "other" }],
    ["/mode", { name: "mode", wrong: "" }],
    ["/theme dark", { name: "theme", theme: "dark" }],
    ["/theme pink", { name: "theme", wrong: "pink" }],
    ["/monitor 2", { name: "monitor", number: 2 }],
    ["/monitor 9", { name: "monitor", wrong: "9" }],
    ["/language ko ", { name: "language", language: "ko" }],
    ["/checkpoints on", { name: "checkpoints", on: true }],
    ["/checkpoints off", { name: "checkpoints", on: false }],
    ["/checkpoints", { name: "checkpoints", wrong: "" }],
    ["/HELP", { name: "help" }],
  ])("%s", (text, want) => {
    expect(parseSlash(text, world)).toEqual(want);
  });

  test.each(["", "hello", "/say hi", "/call x {}", "/", "/stop\n/say x", "/ stop", "//stop", "/tmp/file", "a /stop"])("%j is for the agent", (text) => {
    expect(parseSlash(text, world)).toBeUndefined();
  });
});

describe("planIn", () => {
  test.each([
    ["/plan tidy up", "tidy up"],
    ["/PLAN tidy\nup ", "tidy\nup"],
    ['/plan {"todos":[]}', '/plan {"todos":[]}'],
    ["/plan", undefined],
    ["/plan  ", undefined],
    ["/planning x", undefined],
    ["plan x", undefined],
  ])("%j is %j", (text, want) => {
    expect(planIn(text)).toBe(want);
  });

  test("alone it is a command, with text it is a message", () => {
    expect(parseSlash("/plan", world)).toEqual({ name: "plan" });
    expect(isForAgent("/plan tidy up", world)).toBe(false);
  });
});

describe("suggest", () => {
  test("lists everything after a slash, and less with more input", () => {
    expect(suggest("/", world)).toHaveLength(slashNames.length);
    expect(suggest("/s", world).map((s) => s.name)).toEqual(["stop", "sessions"]);
    expect(suggest("/con", { ...world, account: false }).map((s) => s.name)).toEqual(["condense"]);
    expect(parseSlash("/connect", { ...world, account: false })).toBeUndefined();
    expect(suggest("/theme", world)).toEqual([{ name: "theme", text: "/theme ", whole: false }]);
  });

  test("lists the arguments of a command", () => {
    expect(suggest("/provider ", world).map((s) => s.text)).toEqual(["/provider demo", "/provider anthropic"]);
    expect(suggest("/theme d", world)).toEqual([{ name: "theme", text: "/theme dark", whole: true }]);
    expect(suggest("/monitor ", world)).toHaveLength(4);
  });

  test.each(["", "stop", "/say hi", "/stop\n", "/new x", "/help "])("nothing for %j", (text) => {
    expect(suggest(text, world)).toEqual([]);
  });

  test("every complete suggestion can be run", () => {
    for (const s of ["/", "/stop ", "/provider ", "/theme ", "/language ", "/monitor "].flatMap((t) => suggest(t, world))) {
      if (s.whole) expect(parseSlash(s.text, world), s.text).not.toHaveProperty("wrong");
    }
  });
});

test("the hint is for lines that no command can become", () => {
  expect(isForAgent("/say hi", world)).toBe(true);
  expect(isForAgent("/sa", world)).toBe(true);
  expect(isForAgent("/st", world)).toBe(false);
  expect(isForAgent("/theme x", world)).toBe(false);
  expect(isForAgent("hello", world)).toBe(false);
});
