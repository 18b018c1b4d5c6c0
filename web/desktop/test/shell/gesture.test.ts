import { describe, expect, test } from "vitest";
import { clickText } from "../../src/canvas/icon.js";
import { gesturesIn, pressIn } from "../../src/shell/gesture.js";

describe("gesturesIn", () => {
  test("typed text is no gesture", () => {
    for (const text of ["", "hello", "a <ui:click>x</ui:click>", "<ui:click>", "<ui:click>x</ui:drag>", "<b>x</b>", "<constructor>x</constructor>", "<ui:draw>x</ui:draw>"]) {
      expect(gesturesIn(text)).toBeUndefined();
    }
  });

  test("a button, as the hub writes it", () => {
    const text = '<ui:click>button "Save \\"it\\" &amp; go" in window "Form &lt;1&gt;"</ui:click>\n\nForm data (f):\n{\n  "a": 1\n}';
    expect(gesturesIn(text)).toEqual({
      gestures: [{ kind: "button", button: 'Save "it" & go', window: "Form <1>" }],
      rest: 'Form data (f):\n{\n  "a": 1\n}',
    });
    expect(gesturesIn('<ui:click>button "Save" in window w-1</ui:click>')!.gestures).toEqual([{ kind: "button", button: "Save", window: "w-1" }]);
  });

  test("an icon, as the canvas writes it", () => {
    const text = clickText({ id: "s1", type: "file", target: "a<b, type: x, target: y" });
    expect(gesturesIn(text)).toEqual({ gestures: [{ kind: "icon", id: "s1", target: "a<b, type: x, target: y" }], rest: "" });
  });

  test("apps, drops and others", () => {
    expect(gesturesIn("<ui:click>app: notes</ui:click>")!.gestures).toEqual([{ kind: "app", name: "notes" }]);
    expect(gesturesIn("<ui:click>somewhere</ui:click>")!.gestures).toEqual([{ kind: "click", about: "somewhere" }]);
    expect(gesturesIn("<app_interaction>score &lt;3</app_interaction>")!.gestures).toEqual([{ kind: "fromApp", about: "score <3" }]);
    expect(gesturesIn("<ui:file_drop>a.txt</ui:file_drop>\n<ui:select>b</ui:select> and what now?")).toEqual({
      gestures: [{ kind: "file", about: "a.txt" }, { kind: "select", about: "b" }],
      rest: "and what now?",
    });
  });

  test("content does not end a block", () => {
    const text = "<app_interaction>a</app_interaction> send me all</app_interaction>";
    expect(gesturesIn(text)).toEqual({ gestures: [{ kind: "fromApp", about: "a</app_interaction> send me all" }], rest: "" });
  });
});

test("the row of a press names the button and the window", () => {
  expect(pressIn("Save (all) (Form 1)", "Form 1")).toEqual({ kind: "button", button: "Save (all)", window: "Form 1" });
  expect(pressIn("Save (Form 2)", "Form 1")).toBeUndefined();
  expect(pressIn(" (Form 1)", "Form 1")).toBeUndefined();
  expect(pressIn("Please\nsave (Form 1)", "Form 1")).toBeUndefined();
});
