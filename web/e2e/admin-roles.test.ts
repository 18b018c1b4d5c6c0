// What the monitor shows to people who may not everything.

import type { Page } from "playwright-core";
import { afterAll, expect, it } from "vitest";
import { giveReason, rowOf, sayAndBegin } from "./harness/admin.js";
import { Rest } from "./harness/rest.js";
import { stage } from "./harness/stage.js";
import { Issuer } from "./harness/token.js";
import { until } from "./harness/verbs.js";

const issuer = new Issuer();
const desktop = stage({ flags: [...issuer.flags, "--max-agents", "1"] });

afterAll(() => issuer.close());

/** The monitor's page of somebody who signed in there with a token. */
async function signedIn(user: string, ...roles: string[]): Promise<Page> {
  const page = await (await desktop.profile({}, { viewport: { width: 1440, height: 900 } })).newPage();
  await page.goto(`${desktop.hub.url}/admin`);
  await page.locator("input[name=token]").fill(issuer.token(user, ...roles));
  await page.keyboard.press("Enter");
  await page.locator("[data-link=live]").waitFor();
  return page;
}

it("who is no admin any more is told so, and then finds nothing there", async () => {
  desktop.guard.expect(/status of 404/);
  const page = await signedIn("una", "admin:read");
  const elsewhere = await desktop.profile();
  expect((await elsewhere.request.post(`${desktop.hub.url}/api/login`, { data: { token: issuer.token("una", "user") } })).status()).toBe(200);
  await page.context().addCookies(await elsewhere.cookies());
  await page.getByRole("link", { name: "Audit" }).click();
  await page.locator("[data-barrier=forbidden]").getByText("admin:read").waitFor();
  expect(await page.locator("[role=grid], [data-replica], .audit").count()).toBe(0);
  expect((await page.reload())?.status()).toBe(404);
});

it("who may only look sees no texts and learns why nothing can be done", async () => {
  const rest = new Rest(desktop.hub.url, issuer.token("ann", "user"));
  const session = await rest.newSession("Secret plans");
  await sayAndBegin(rest, session, "/nosteer\n/window note Hidden title | hidden text\n/ask Hidden question? | this | that");
  await rest.say(session, "hidden message");
  const page = await signedIn("rita", "admin:read");
  await page.getByText("looks only").waitFor();
  await rowOf(page, session).waitFor();
  const drain = page.locator("[data-admin-action=drain]").first();
  expect(await drain.getAttribute("aria-disabled")).toBe("true");
  expect(await drain.getAttribute("title")).toContain("admin:act");
  await rowOf(page, session).locator("a").click();
  await page.locator("[data-key$='/note']").waitFor();
  await page.locator("[data-admin-action=cancel]").waitFor();
  await page.locator(".tail-line").first().waitFor();
  const actions = page.locator("[data-admin-action]");
  for (const action of await actions.all()) {
    expect(await action.getAttribute("aria-disabled"), await action.innerText()).toBe("true");
    await action.click({ force: true });
  }
  expect(await actions.count()).toBeGreaterThanOrEqual(6);
  expect(await page.locator("dialog[open]").count()).toBe(0);
  await page.getByText("Texts are replaced by their length").waitFor();
  // Nothing of it is anywhere in the page, nor did the hub send any of it.
  const all = await page.evaluate(async (id) => {
    const answers = ["", "/events?limit=1000"].map(async (path) => (await fetch(`/api/admin/sessions/${id}${path}`)).text());
    return document.body.innerText + (await Promise.all(answers)).join("");
  }, session);
  expect(all).toContain("characters›");
  expect(all).not.toMatch(/secret plans|hidden (title|text|question|message)/i);
  // Or else it keeps the only agent from those who come after.
  await rest.ask("DELETE", `/api/sessions/${session}`);
});

it("who may act but not see texts acts, and the audit names them", async () => {
  const rest = new Rest(desktop.hub.url, issuer.token("ann", "user"));
  const session = await rest.newSession("Secret plans");
  await rest.say(session, "/hang");
  const page = await signedIn("otto", "admin:act");
  await rowOf(page, session).locator("a").click();
  await page.locator("[data-agent] [data-admin-action=interruptAgent]").click();
  const record = await giveReason(page, "It hangs.");
  await until(async () => ((await rest.snapshot(session)).agents ?? []).filter((a) => a.status !== "idle").length).toBe(0);
  await page.goto(`${desktop.hub.url}/admin/audit`);
  await page.locator(`[data-record="${record}"][data-result=done]`).filter({ hasText: "otto" }).waitFor();
  expect(await page.locator("body").innerText()).not.toContain("Secret plans");
});
