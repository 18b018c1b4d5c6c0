// The windows that the demo provider opens on request: every page loads, is drawn without complaints and is accessible.

import type { Frame, Page } from "playwright-core";
import { expect, it } from "vitest";
import { findViolations } from "./harness/axe.js";
import { sendMessage, shownWindows, until, waitForRow, windowOf } from "./harness/desktop-page.js";
import { desktopFixture } from "./harness/fixture.js";

const desktop = desktopFixture();

/** The requests for pages, their windows, and a text that the script of each page writes. */
const pages: readonly (readonly [request: string, window: string, selector: string, text: RegExp])[] = [
  ["open a calculator", "calculator-1", "#keys", /7.*8.*9/s],
  ["set a timer for 7 minutes", "timer-1", "#time", /07:00/],
  ["play a small game", "game2048-1", "#hint", /arrow keys/],
  ["play memory", "memory-1", "#state", /0 of 8/],
  ["뱀 게임 하자", "snake-1", "#hint", /화살표/],
  ["open a sketch pad", "sketch-1", "#undo", /Undo/],
  ["explore a csv", "csv-1", "#table", /Seoul/],
  ["습관 기록 만들어 줘", "habits-1", "#rows", /산책/],
  ["give me a quiz", "quiz-1", "#answers", /Jupiter/],
  ["open a calendar", "calendar-1", "#weeks", /28/],
  ["예산 짜 줘", "budget-1", "#left", /남아요/],
  ["open a unit converter", "converter-1", "#said", /10 km = 10,000 m/],
  ["make a colour palette", "palette-1", "#colours", /#[0-9a-f]{6}/],
  ["countdown to 2090-01-01", "countdown-1", "#title", /is coming/],
  ["make a weekly planner", "planner-1", "#week", /today/],
  ["낱말 카드 만들어 줘", "cards-1", "#card", /Hello/],
  ["roll the dice", "dice-1", "#sum", /\d/],
  ["show a world clock", "clock-1", "#list", /Seoul/],
];

/** The document of a window's page. */
async function pageFrame(page: Page, window: string): Promise<Frame> {
  const frame = await (await windowOf(page, window).locator("iframe").elementHandle())!.contentFrame();
  return frame!;
}

it("every page of the demo opens, shows its content and has no serious violations", { timeout: 120_000 }, async () => {
  const page = await desktop.tab({ session: await desktop.hub.rest.newSession("demo") });
  for (const [request, window, selector, text] of pages) {
    await sendMessage(page, request);
    await windowOf(page, window).waitFor();
    await until(async () => windowOf(page, window).frameLocator("iframe").locator(selector).innerText()).toMatch(text);
    expect(await findViolations(await pageFrame(page, window)), window).toEqual([]);
    if (window === "timer-1") expect(await findViolations(page), "violations of the desktop").toEqual([]);
    await sendMessage(page, "close it");
    await windowOf(page, window).waitFor({ state: "detached" });
  }
});

it("a miss offers three suggestions, and a click opens what it says; tidy up and undo move windows", { timeout: 60_000 }, async () => {
  const page = await desktop.tab({ session: await desktop.hub.rest.newSession("miss") });
  await sendMessage(page, "what is the meaning of life?");
  await windowOf(page, "suggestions").waitFor();
  const row = await waitForRow(page, "no AI model answers here");
  await until(() => row.locator("li").count()).toBe(3);
  const ideas = (await row.locator("li").allInnerTexts()).map((s) => s.trim());
  await windowOf(page, "suggestions").getByRole("button", { name: ideas[0]!, exact: true }).click();
  await until(async () => (await shownWindows(page)).length).toBe(2);
  await sendMessage(page, "open a calculator");
  await windowOf(page, "calculator-1").waitFor();
  const place = (id: string) => windowOf(page, id).boundingBox();
  const before = await place("calculator-1");
  await sendMessage(page, "tidy up");
  await waitForRow(page, "side by side");
  await until(() => place("calculator-1")).not.toEqual(before);
  await sendMessage(page, "undo");
  await waitForRow(page, "took the last change back");
  await until(() => place("calculator-1")).toEqual(before);
  expect(await findViolations(page), "violations of the desktop").toEqual([]);
});

it("in Korean a miss quotes the message with the particle of its last sound", async () => {
  const page = await desktop.tab({ session: await desktop.hub.rest.newSession("조사"), prefs: { language: "ko" }, context: { locale: "ko-KR" } });
  for (const [text, quoted] of [
    ["한글", "“한글”이라고 하셨네요"],
    ["나무", "“나무”라고 하셨네요"],
  ] as const) {
    await sendMessage(page, text);
    await waitForRow(page, quoted);
  }
});

it("shorter, bigger and darker change the newest window", { timeout: 60_000 }, async () => {
  const session = await desktop.hub.rest.newSession("changes");
  const page = await desktop.tab({ session, prefs: { theme: "light" } });
  await sendMessage(page, "show a table");
  await windowOf(page, "table-1").locator("tbody tr").nth(2).waitFor();
  const before = (await windowOf(page, "table-1").boundingBox())!;
  await sendMessage(page, "make it shorter");
  await until(() => windowOf(page, "table-1").locator("tbody tr").count()).toBe(2);
  await sendMessage(page, "make it bigger");
  await until(async () => (await windowOf(page, "table-1").boundingBox())!.width).toBeGreaterThan(before.width);
  await sendMessage(page, "open a calculator");
  const root = windowOf(page, "calculator-1").frameLocator("iframe").locator("html");
  await root.locator("#keys").waitFor();
  const scheme = (): Promise<string> => root.evaluate((e) => getComputedStyle(e).colorScheme);
  expect(await scheme(), "colours of the page before").not.toBe("dark");
  await sendMessage(page, "make it darker");
  await until(scheme).toBe("dark");
});
