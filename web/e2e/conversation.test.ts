// The conversation and the command bar: widths, long messages, a steered answer, the placeholder, dictation.

import { expect, it } from "vitest";
import { commandBar, sendMessage, until, waitForRow } from "./harness/desktop-page.js";
import { desktopFixture } from "./harness/fixture.js";

const desktop = desktopFixture();

it("the conversation is narrow on a page below 1300 px", async () => {
  const session = await desktop.hub.rest.newSession("width");
  for (const [width, expected] of [[1299, 300], [1300, 380]] as const) {
    const page = await desktop.tab({ session, context: { viewport: { width, height: 800 } } });
    await page.locator(".app-drawer").waitFor();
    await until(async () => Math.round((await page.locator(".app-drawer").boundingBox())!.width)).toBe(expected);
    await page.close();
  }
});

it("a message of forty lines is shown in part, and completely on request", async () => {
  const session = await desktop.hub.rest.newSession("long");
  const page = await desktop.tab({ session });
  await sendMessage(page, Array.from({ length: 40 }, (_, n) => `line ${n + 1}`).join("\n"));
  const message = page.locator("[data-row][data-kind=user]");
  const height = async (): Promise<number> => (await message.boundingBox())!.height;
  const all = message.getByRole("button", { name: "Show all" });
  await all.waitFor();
  const before = await height();
  await all.click();
  await all.waitFor({ state: "detached" });
  expect(await height(), "height of the whole message").toBeGreaterThan(before + 100);
  await message.getByText("line 40").waitFor();
});

it("a steered answer begins a new paragraph", async () => {
  const session = await desktop.hub.rest.newSession("steer");
  const page = await desktop.tab({ session });
  await sendMessage(page, "/stream 60 12");
  await page.locator("[data-stream]").getByText(/\d/).first().waitFor();
  await sendMessage(page, "/say Now something else.");
  await waitForRow(page, "Now something else.");
  const paragraphs = await page.locator("[data-row][data-kind=assistant] .md p").allInnerTexts();
  expect(paragraphs.length, "paragraphs of the answer").toBeGreaterThanOrEqual(2);
  // What came before the second message and what came after it are not in one line.
  expect(paragraphs.filter((p) => /\bw1\b/.test(p) && p.includes("Now something else.")), "paragraphs that answer both").toEqual([]);
});

it("the placeholder is never cut: on a small laptop and on a phone, in both languages", async () => {
  const session = await desktop.hub.rest.newSession("placeholder");
  for (const language of ["en", "ko"] as const) {
    for (const viewport of [{ width: 1024, height: 700 }, { width: 390, height: 844 }]) {
      const page = await desktop.tab({ session, prefs: { language }, context: { viewport, locale: language === "ko" ? "ko-KR" : "en-GB" } });
      const missing = (): Promise<number> =>
        commandBar(page).evaluate((bar) => {
          const field = bar as HTMLTextAreaElement;
          const style = getComputedStyle(field);
          const context = document.createElement("canvas").getContext("2d")!;
          context.font = style.font;
          const room = field.clientWidth - Number.parseFloat(style.paddingLeft) - Number.parseFloat(style.paddingRight);
          return Math.max(0, Math.ceil(context.measureText(field.placeholder).width - room));
        });
      await until(missing).toBe(0);
      await page.close();
    }
  }
});

it("speech becomes the text of the command bar, and is not sent by itself", async () => {
  const session = await desktop.hub.rest.newSession("voice");
  const profile = await desktop.profile();
  await profile.addInitScript(() => {
    class FakeRecognition {
      onresult: ((e: object) => void) | null = null;
      onend: (() => void) | null = null;
      start(): void {
        Object.assign(globalThis, { hear: (transcript: string) => this.onresult?.({ results: [[{ transcript }]] }) });
      }
      stop(): void {
        this.onend?.();
      }
      abort(): void {
        this.onend?.();
      }
    }
    Object.assign(globalThis, { SpeechRecognition: FakeRecognition });
  });
  const page = await desktop.tab({ session, profile });
  await page.getByRole("button", { name: "Dictate" }).click();
  await page.getByText("Listening. Nothing is sent by itself.").waitFor({ state: "attached" });
  await page.evaluate(() => (globalThis as unknown as { hear: (text: string) => void }).hear("show a table"));
  await until(() => commandBar(page).inputValue()).toBe("show a table");
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Dictate" }).waitFor();
  expect(await commandBar(page).inputValue()).toBe("show a table");
  expect(await desktop.hub.rest.rows(session), "rows of the conversation").toEqual([]);
});
