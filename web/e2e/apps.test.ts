// Apps of a user: an agent installs or writes one, its icon opens it, and its data stays.

import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import type { SessionID } from "../core/src/index.js";
import { findViolations } from "./harness/axe.js";
import { until, waitForLink, windowOf } from "./harness/desktop-page.js";
import { desktopFixture } from "./harness/fixture.js";
import { callTool as callAnyTool } from "./harness/tools.js";

const desktop = desktopFixture();

const callTool = (session: SessionID, tool: string, input: object): Promise<string> => callAnyTool(desktop.hub, session, tool, input);

const icon = (page: Page, id: string) => page.locator(`.win-icons [data-app-id="${id}"]`);
const count = (page: Page): Promise<string> => windowOf(page, "app-counter").frameLocator("iframe").locator("output").innerText();

it("an installed app has an icon in every session, opens with the keyboard, and keeps its data", async () => {
  const session = await desktop.hub.rest.newSession("apps");
  const other = await desktop.hub.rest.newSession("other");
  const profile = await desktop.profile();
  const page = await desktop.tab({ session, profile });
  expect(await callTool(session, "apps_market_get", { appId: "counter" })).toContain("complete: The app counter is installed");
  await icon(page, "counter").waitFor();
  await icon(page, "counter").focus();
  await page.keyboard.press("Enter");
  await until(() => count(page)).toBe("0");
  const up = windowOf(page, "app-counter").frameLocator("iframe").getByRole("button", { name: "Count up" });
  await up.click();
  await up.click();
  await until(() => count(page)).toBe("2");

  // Another tab has the same data, in another session, and follows changes.
  const second = await desktop.tab({ session: other, profile });
  await icon(second, "counter").click();
  await until(() => count(second)).toBe("2");
  await windowOf(second, "app-counter").frameLocator("iframe").getByRole("button", { name: "Count up" }).click();
  await until(() => count(page)).toBe("3");

  // An agent changes the data and the badge.
  expect(await callTool(session, "apps_write_config", { appId: "counter", filename: "count.json", content: { count: 40 } })).toContain("complete");
  await until(() => count(page)).toBe("40");
  await callTool(session, "apps_set_app_badge", { appId: "counter", count: 7 });
  await until(() => icon(page, "counter").locator(".win-icon-count").innerText()).toContain("7");
  expect(await findViolations(page), "violations of the desktop").toEqual([]);

  desktop.guard.expectLostHub();
  await desktop.hub.kill();
  await desktop.hub.up();
  await waitForLink(page, "live");
  await page.reload();
  await icon(page, "counter").waitFor();
  await until(() => count(page)).toBe("40");
});

it("an app that an agent writes is shown, changed while it is open, and pinned", async () => {
  const session = await desktop.hub.rest.newSession("writes");
  const page = await desktop.tab({ session });
  const wrote = await callTool(session, "dev_write_ts", {
    path: "src/main.ts",
    content: `import "./style.css"\ndocument.querySelector("#app")!.textContent = "version " + String(1)`,
  });
  const sandbox = /sandbox (\d+)/.exec(wrote)![1]!;
  expect(await callTool(session, "dev_compile", { sandbox })).toContain("error: The source has errors");
  await callTool(session, "dev_write_ts", { sandboxId: sandbox, path: "src/style.css", content: "#app { color: rgb(1, 2, 3) }" });
  expect(await callTool(session, "dev_deploy", { sandbox, appId: "mine", name: "My app", icon: "🧪" })).toContain("complete");
  await icon(page, "mine").click();
  const body = windowOf(page, "app-mine").frameLocator("iframe").locator("#app");
  await until(() => body.innerText()).toBe("version 1");
  expect(await body.evaluate((e) => getComputedStyle(e).color)).toBe("rgb(1, 2, 3)");

  await callTool(session, "dev_apply_diff_ts", { sandboxId: sandbox, path: "src/main.ts", old_string: "String(1)", new_string: "String(2)" });
  await callTool(session, "dev_deploy", { sandbox, appId: "mine" });
  await until(() => body.innerText()).toBe("version 2");

  await windowOf(page, "app-mine").locator(".win-title").first().click({ button: "right" });
  await page.getByRole("menuitem", { name: "Pin to the desktop" }).click();
  await page.locator('[data-shortcut-id="pin-app-mine"]').waitFor();
  await desktop.hub.rest.runActions(session, [{ type: "window.close", windowId: "app-mine" }]);
  await windowOf(page, "app-mine").waitFor({ state: "detached" });
  await page.locator('[data-shortcut-id="pin-app-mine"]').click();
  await until(() => body.innerText()).toBe("version 2");
});
