// Forms in windows, and Korean text from an input method.

import type { CDPSession, Page } from "playwright-core";
import { expect, it } from "vitest";
import { commandBar, sendMessage, shownRows, until, waitForRow, windowOf } from "./harness/desktop-page.js";
import { desktopFixture, devtools } from "./harness/fixture.js";

const desktop = desktopFixture();

/** Starts a syllable, as an input method does. */
async function compose(dev: CDPSession, text: string): Promise<void> {
  await dev.send("Input.imeSetComposition", { text, selectionStart: text.length, selectionEnd: text.length });
}

/** Presses Enter while a syllable is being composed: the key goes to the input method, as its key code says. */
async function enterWhileComposing(dev: CDPSession): Promise<void> {
  const key = { key: "Process", code: "Enter", windowsVirtualKeyCode: 229, nativeVirtualKeyCode: 229 };
  await dev.send("Input.dispatchKeyEvent", { type: "rawKeyDown", ...key });
  await dev.send("Input.dispatchKeyEvent", { type: "keyUp", ...key });
}

async function openForm(page: Page): Promise<void> {
  await sendMessage(page, "make a form: name, e-mail");
  await windowOf(page, "form-1").getByLabel("name").waitFor();
}

it("text typed in a form survives an update; it is sent to the agent, which answers", async () => {
  const session = await desktop.hub.rest.newSession("form");
  const page = await desktop.tab({ session });
  await openForm(page);
  const form = windowOf(page, "form-1");
  await form.getByLabel("name").fill("Ada");
  await form.getByLabel("e-mail").fill("ada@example.org");

  const shown = (await desktop.hub.rest.window(session, "form-1"))!;
  const layout = shown.content.data as { components: object[] };
  const changed = { ...layout, components: [{ type: "text", content: "A new line above" }, ...layout.components] };
  await desktop.hub.rest.runActions(session, [{ type: "window.setContent", windowId: "form-1", content: { renderer: "component", data: changed } as never }]);
  await form.getByText("A new line above").waitFor();
  expect(await form.getByLabel("name").inputValue()).toBe("Ada");

  await form.getByRole("button", { name: "Save" }).click();
  await waitForRow(page, "ada@example.org");
  await form.getByText("Thank you!").waitFor();
  await form.getByText("Ada", { exact: true }).waitFor();
});

it("Enter in a field submits the form, but not while an input method composes", async () => {
  const session = await desktop.hub.rest.newSession("form by key");
  const page = await desktop.tab({ session });
  await openForm(page);
  const form = windowOf(page, "form-1");
  const dev = await devtools(page);
  await form.getByLabel("name").focus();
  await compose(dev, "한");
  await enterWhileComposing(dev);
  await dev.send("Input.insertText", { text: "한" });
  await desktop.hub.rest.sendMessage(session, "/say a moment later");
  await waitForRow(page, "a moment later");
  expect(await form.getByText("고마워요!").count()).toBe(0);
  expect(await form.getByLabel("name").inputValue()).toBe("한");
  await form.getByLabel("name").press("Enter");
  await form.getByText("고마워요!").waitFor();
  await form.getByText("한", { exact: true }).waitFor();
});

it("Enter does not send while an input method composes; the next Enter does", async () => {
  const session = await desktop.hub.rest.newSession("hangul");
  const page = await desktop.tab({ session });
  const dev = await devtools(page);
  await commandBar(page).focus();
  for (const step of ["ㅎ", "하", "한"]) await compose(dev, step);
  await enterWhileComposing(dev);
  await dev.send("Input.insertText", { text: "한" });
  for (const step of ["ㄱ", "그", "글"]) await compose(dev, step);
  await enterWhileComposing(dev);
  await dev.send("Input.insertText", { text: "글" });
  await desktop.hub.rest.sendMessage(session, "/say a moment later");
  await waitForRow(page, "a moment later");
  expect(await commandBar(page).inputValue()).toBe("한글");
  expect((await shownRows(page, "user")).filter((r) => r.text.includes("한"))).toEqual([]);

  await commandBar(page).press("Enter");
  await waitForRow(page, "한글", "user");
  await until(() => commandBar(page).inputValue()).toBe("");
  expect((await shownRows(page, "user")).filter((r) => r.text.includes("한글"))).toHaveLength(1);
});

it("Shift+Enter starts a new line, and the up arrow recalls the last message", async () => {
  const page = await desktop.tab();
  await commandBar(page).focus();
  await page.keyboard.type("/say one");
  await page.keyboard.press("Shift+Enter");
  await page.keyboard.type("/say two");
  expect(await commandBar(page).inputValue()).toBe("/say one\n/say two");
  await page.keyboard.press("Enter");
  await waitForRow(page, "two");
  await page.keyboard.press("ArrowUp");
  await until(() => commandBar(page).inputValue()).toBe("/say one\n/say two");
});
