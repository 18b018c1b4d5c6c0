// From an empty hub to the first answer of a model, in the page and without a mouse.

import type { Page } from "playwright-core";
import { afterAll, describe, expect, it } from "vitest";
import type { SessionID } from "../core/src/index.js";
import { until, waitForLink, waitForRow } from "./harness/desktop-page.js";
import { type DesktopFixture, desktopFixture } from "./harness/fixture.js";
import { Model } from "./harness/model.js";

const model = await Model.start();
afterAll(() => model.stop());

/** Presses Tab until an element has the focus. */
async function tabTo(page: Page, selector: string, most = 80): Promise<void> {
  for (let n = 0; n < most; n++) {
    if (await page.evaluate((s) => document.activeElement?.matches(s) ?? false, selector)) return;
    await page.keyboard.press("Tab");
  }
  throw new Error(`${selector} cannot be reached with Tab`);
}

/** A tab without a mouse that shows a new session of a user who has not seen the tour. */
async function newcomer(desktop: DesktopFixture, language: "en" | "ko"): Promise<{ page: Page; session: SessionID }> {
  const session = await desktop.hub.rest.newSession("first");
  const page = await desktop.tab({ session, prefs: { language, toured: false } });
  page.mouse.click = () => Promise.reject(new Error("there is no mouse"));
  return { page, session };
}

/** Opens the page to connect a model from the card of the first run. */
async function openFromCard(page: Page, name: string): Promise<void> {
  await page.locator(".tour-card").waitFor();
  await tabTo(page, ".tour-doors-side .button-primary");
  expect(await page.evaluate(() => document.activeElement?.textContent)).toContain(name);
  await page.keyboard.press("Enter");
  await page.locator("dialog[open] form.models-new").waitFor();
}

/** Chooses a backend with the arrow keys. */
async function choose(page: Page, backend: string): Promise<void> {
  await tabTo(page, ".models-kind input");
  const chosen = (): Promise<string | null> => page.locator(".models-kind:has(:checked)").getAttribute("data-backend");
  for (let n = 0; n < 8 && (await chosen()) !== backend; n++) await page.keyboard.press("ArrowDown");
  expect(await chosen()).toBe(backend);
}

/** Sends a message and waits for its answer. */
async function sendTurn(page: Page, text: string): Promise<void> {
  await tabTo(page, "[data-command-bar]");
  await page.keyboard.insertText(`/say ${text}`);
  await page.keyboard.press("Enter");
  await waitForRow(page, text);
}

const chip = (page: Page): Promise<string> => page.locator(".topbar-provider-name").innerText();

describe("in English", () => {
  const desktop = desktopFixture({ flags: ["--provider-hosts", "127.0.0.1"] });

  it("a newcomer connects a server with a key, tests it, uses it, and it is still there after a restart", async () => {
    const { page, session } = await newcomer(desktop, "en");
    const { keyboard } = page;
    await openFromCard(page, "Connect");
    await keyboard.press("Escape");
    await page.locator("form.models-new").waitFor({ state: "detached" });
    await openFromCard(page, "Connect");

    await choose(page, "openai-compatible");
    await tabTo(page, "input[name=baseUrl]");
    await keyboard.insertText("http://169.254.169.254/v1");
    await keyboard.press("Tab");
    await page.locator("[data-models=failure][data-class=address]").waitFor();
    await keyboard.press("Shift+Tab");
    await keyboard.press("Control+a");
    await keyboard.insertText(`${model.url}/v1`);
    await keyboard.press("Tab");
    await keyboard.insertText("sk-e2e-canary-0123456789");
    await keyboard.press("Tab");
    await until(() => page.locator("input[name=model]").inputValue()).toBe("fake");
    await page.locator("[data-models=failure]").waitFor({ state: "detached" });

    await keyboard.press("Enter");
    await page.locator("[data-models=passed]").waitFor();
    const result = await page.locator("[data-models=passed]").innerText();
    expect(result).toContain("hello");
    expect(result).toContain("cost unknown");
    await until(() => page.evaluate(() => document.activeElement?.getAttribute("data-models"))).toBe("use");
    await keyboard.press("Enter");
    await page.locator("form.models-new").waitFor({ state: "detached" });
    await until(() => chip(page)).toBe("fake");
    await sendTurn(page, "The first answer.");
    expect(model.requests.at(-1)!.at(-1)!.blocks.join()).toContain("The first answer.");

    desktop.guard.expectLostHub();
    await desktop.hub.kill();
    await desktop.hub.up();
    await page.goto(desktop.address(session));
    await waitForLink(page, "live");
    await until(() => chip(page)).toBe("fake");
    await sendTurn(page, "Still here.");
    const other = await desktop.tab({ profile: page.context() });
    await sendTurn(other, "Also in a new session.");
    await until(() => chip(other)).toBe("fake");

    const text = JSON.stringify([await desktop.hub.rest.events(session), await desktop.hub.rest.request("GET", "/api/model-profiles"), await desktop.hub.rest.request("GET", "/api/secrets")]);
    expect(text).not.toContain("canary");
  });

  it("a change in another tab is reported, and the typed text stays", async () => {
    const { page } = await newcomer(desktop, "en");
    await tabTo(page, ".topbar-provider");
    await page.keyboard.press("Enter");
    await page.locator("[role=menu]").waitFor();
    await page.keyboard.press("End");
    await page.keyboard.press("Enter");
    await page.locator("dialog[open] form.models-new").waitFor();
    await choose(page, "openai-compatible");
    await tabTo(page, "input[name=baseUrl]");
    await page.keyboard.insertText(`${model.url}/v1`);
    await tabTo(page, "input[name=model]");
    await until(() => page.locator("input[name=model]").inputValue()).toBe("fake");
    await page.keyboard.press("End");
    await page.keyboard.insertText("-2");
    await page.route("**/api/model-profiles/fake-2", async (route) => {
      await desktop.hub.rest.request("PUT", "/api/model-profiles/other", { name: "Other", backend: "openai-compatible", baseUrl: "https://models.example.org/v1", model: "m" });
      await route.continue();
    }, { times: 1 });
    desktop.guard.expect(/409/);
    await tabTo(page, "[data-models=use]");
    await page.keyboard.press("Enter");
    await page.locator(".models-problem[role=alert]").waitFor();
    expect(await page.locator("input[name=model]").inputValue()).toBe("fake-2");
    await page.locator('[data-profile="other"]').waitFor();
    await tabTo(page, "[data-models=use]");
    await page.keyboard.press("Enter");
    await until(() => chip(page)).toBe("fake-2");
  });
});

describe("in Korean", () => {
  const desktop = desktopFixture({ flags: ["--ollama-url", `${model.url}/v1`] });

  it("a newcomer uses the Ollama that the hub found, without entering anything", async () => {
    const { page, session } = await newcomer(desktop, "ko");
    await openFromCard(page, "연결하기");
    await until(() => page.locator(".models-kind:has(:checked)").getAttribute("data-backend")).toBe("ollama");
    await until(() => page.locator("input[name=model]").inputValue()).toBe("fake");
    await tabTo(page, "[data-models=test]");
    await page.keyboard.press("Enter");
    await page.locator("[data-models=passed]").waitFor();
    expect(await page.locator("[data-models=passed]").innerText()).toContain("무료");
    await page.keyboard.press("Enter");
    await until(() => chip(page)).toBe("fake");
    await sendTurn(page, "첫 번째 답변이에요.");

    desktop.guard.expectLostHub();
    await desktop.hub.kill();
    await desktop.hub.up();
    await page.goto(desktop.address(session));
    await waitForLink(page, "live");
    await until(() => chip(page)).toBe("fake");
    await sendTurn(page, "아직 있어요.");
  });
});
