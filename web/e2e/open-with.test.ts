// Files are opened with apps that declare their extensions.

import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import type { SessionID } from "../core/src/index.js";
import { findViolations } from "./harness/axe.js";
import { until, windowOf } from "./harness/desktop-page.js";
import { desktopFixture } from "./harness/fixture.js";
import { callTool } from "./harness/tools.js";

const desktop = desktopFixture();

const png = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");

async function put(session: SessionID, path: string, body: string | Uint8Array<ArrayBuffer>): Promise<void> {
  const r = await fetch(`${desktop.hub.url}/api/sessions/${session}/files/${path}`, {
    method: "PUT",
    headers: { authorization: `Bearer ${new URL(desktop.hub.entry).searchParams.get("token")}`, "content-type": "application/octet-stream" },
    body,
  });
  expect(r.status, `PUT ${path}`).toBe(201);
}

/** Opens a file from the Files window with an app, with the keyboard alone. */
async function openWith(page: Page, name: string, app: string): Promise<void> {
  const row = page.locator(`[data-entry="${name}"]`);
  await row.getByRole("button", { name: `Open ${name} with…` }).press("Enter");
  await page.getByRole("menuitem", { name: app }).press("Enter");
}

const appText = (page: Page, app: string): Promise<string> => windowOf(page, `app-${app}`).frameLocator("iframe").locator("body").innerText();

it("a file is opened with an installed app, also in its open window, and another tab sees it", { timeout: 120_000 }, async () => {
  const session = await desktop.hub.rest.newSession("open with");
  const profile = await desktop.profile();
  const page = await desktop.tab({ session, profile });
  const other = await desktop.tab({ session, profile });
  await put(session, "sales.CSV", "name,sum\nKim,30\n");
  await put(session, "more.csv", "name,sum\nPark,7\n");
  await put(session, "dot.png", new Uint8Array(png));
  await put(session, "plain.txt", "text");
  await page.locator("[data-files-icon]").click();
  await page.locator('[data-entry="plain.txt"]').waitFor();
  expect(await page.getByRole("button", { name: /^Open .* with…$/ }).count(), "menus without apps").toBe(0);

  await callTool(desktop.hub, session, "apps_market_get", { appId: "csv-explorer" });
  await callTool(desktop.hub, session, "apps_market_get", { appId: "image-viewer" });
  await page.getByRole("button", { name: "Open dot.png with…" }).waitFor();
  expect(await findViolations(page), "violations of the Files window").toEqual([]);
  expect(await page.locator('[data-entry="plain.txt"]').getByRole("button", { name: /with…$/ }).count()).toBe(0);

  await openWith(page, "sales.CSV", "CSV Explorer");
  await until(() => appText(page, "csv-explorer")).toContain("Kim");
  await until(() => appText(other, "csv-explorer")).toContain("Kim");
  await openWith(page, "more.csv", "CSV Explorer");
  await until(() => appText(page, "csv-explorer")).toContain("Park");
  expect(await appText(page, "csv-explorer")).not.toContain("Kim");
  await openWith(page, "dot.png", "Image Viewer");
  await until(() => appText(page, "image-viewer")).toContain("dot.png");

  // The window of a file has the menu, too.
  await page.locator('[data-entry="sales.CSV"] .files-name').evaluate((e) => (e as HTMLElement).click());
  const viewer = page.locator('[data-file="sales.CSV"]');
  await viewer.getByRole("button", { name: "Open sales.CSV with…" }).press("Enter");
  await page.getByRole("menuitem", { name: "CSV Explorer" }).press("Enter");
  await until(() => appText(page, "csv-explorer")).toContain("Kim");
});

it("a kind that only an app can show is opened with it; the reason of a refusal is shown", { timeout: 120_000 }, async () => {
  const session = await desktop.hub.rest.newSession("only an app");
  const page = await desktop.tab({ session });
  const html = `<!doctype html><p id="out">nothing</p><script>
    yaar.app.register({ appId: "zips", name: "Zips", state: {}, commands: { look: { description: "look", handler: (p) => {
      if (p.data.length < 60) throw new Error("it is too short");
      document.getElementById("out").textContent = p.name + " " + p.data.slice(0, 37);
    } } } });
  </script>`;
  const made = await callTool(desktop.hub, session, "dev_write_ts", { path: "index.html", content: html });
  const sandbox = /sandbox (\d+)/.exec(made)![1]!;
  const deployed = await callTool(desktop.hub, session, "dev_deploy", { sandbox, appId: "zips", name: "Zips", appProtocol: true, fileAssociations: [{ extensions: ["zip"], command: "look", paramKey: "data" }] });
  expect(deployed).toContain("complete");
  await put(session, "all.zip", new Uint8Array(200).fill(255));
  await put(session, "small.zip", new Uint8Array(3).fill(255));
  await page.locator("[data-files-icon]").click();
  await page.getByRole("button", { name: "Open all.zip with…" }).waitFor();
  await page.getByRole("button", { name: "Open all.zip", exact: true }).press("Enter");
  await until(() => appText(page, "zips")).toBe("all.zip data:application/octet-stream;base64,");
  await page.getByRole("button", { name: "Open small.zip", exact: true }).press("Enter");
  await page.getByText("Zips did not open small.zip: it is too short").waitFor();
});
