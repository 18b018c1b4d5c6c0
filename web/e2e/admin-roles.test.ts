// The admin page for users with restricted permissions.

import type { Page } from "playwright-core";
import { afterAll, expect, it } from "vitest";
import { confirmAction, rowOf, sendAndWaitForStart } from "./harness/admin.js";
import { until } from "./harness/desktop-page.js";
import { desktopFixture } from "./harness/fixture.js";
import { Rest } from "./harness/rest.js";
import { Issuer } from "./harness/token.js";

const issuer = new Issuer();
const desktop = desktopFixture({ flags: [...issuer.flags, "--max-agents", "1"] });

afterAll(() => issuer.close());

/** Opens the admin page of a user who signs in with a token. */
async function signedIn(user: string, ...roles: string[]): Promise<Page> {
  const page = await (await desktop.profile({}, { viewport: { width: 1440, height: 900 } })).newPage();
  await page.goto(`${desktop.hub.url}/admin`);
  await page.locator("input[name=token]").fill(issuer.token(user, ...roles));
  await page.keyboard.press("Enter");
  await page.locator("[data-link=live]").waitFor();
  return page;
}

it("a user who loses the admin role is told so, and then gets a 404", async () => {
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

it("a user who may only read sees no texts, and the reason why actions are disabled", async () => {
  const rest = new Rest(desktop.hub.url, issuer.token("ann", "user"));
  const session = await rest.newSession("Secret plans");
  await sendAndWaitForStart(rest, session, "/nosteer\n/window note Hidden title | hidden text\n/ask Hidden question? | this | that");
  await rest.sendMessage(session, "hidden message");
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
  // None of the texts are in the page, nor did the hub send them.
  const all = await page.evaluate(async (id) => {
    const answers = ["", "/events?limit=1000"].map(async (path) => (await fetch(`/api/admin/sessions/${id}${path}`)).text());
    return document.body.innerText + (await Promise.all(answers)).join("");
  }, session);
  expect(all).toContain("characters›");
  expect(all).not.toMatch(/secret plans|hidden (title|text|question|message)/i);
  // Otherwise it would hold the only agent slot during the next tests.
  await rest.request("DELETE", `/api/sessions/${session}`);
});

it("a user who may act but not see texts runs an action, and the audit log names the user", async () => {
  const rest = new Rest(desktop.hub.url, issuer.token("ann", "user"));
  const session = await rest.newSession("Secret plans");
  await rest.sendMessage(session, "/hang");
  const page = await signedIn("otto", "admin:act");
  await rowOf(page, session).locator("a").click();
  await page.locator("[data-agent] [data-admin-action=interruptAgent]").click();
  const record = await confirmAction(page, "It hangs.");
  await until(async () => ((await rest.snapshot(session)).agents ?? []).filter((a) => a.status !== "idle").length).toBe(0);
  await page.goto(`${desktop.hub.url}/admin/audit`);
  await page.locator(`[data-record="${record}"][data-result=done]`).filter({ hasText: "otto" }).waitFor();
  expect(await page.locator("body").innerText()).not.toContain("Secret plans");
});
