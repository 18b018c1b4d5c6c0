// Icons on the desktop: what agents put there works with mouse and keyboard, in both tabs.

import { expect, it } from "vitest";
import type { Action } from "../core/src/index.js";
import { until, windowOf } from "./harness/desktop-page.js";
import { desktopFixture } from "./harness/fixture.js";

const desktop = desktopFixture();

function shortcut(id: string, createdAt: number, more: object): Action {
  return { type: "desktop.createShortcut", shortcut: { id, label: `Icon ${id}`, icon: "★", type: "action", target: "open it", createdAt, ...more } };
}

const note: Action = {
  type: "window.create",
  windowId: "note",
  title: "Note",
  bounds: { x: 300, y: 100, w: 360, h: 240 },
  content: { renderer: "markdown", data: "# From an icon" },
};

it("icons open, move the focus, are renamed and removed in two tabs", async () => {
  const session = await desktop.hub.rest.newSession("icons");
  const profile = await desktop.profile();
  const page = await desktop.tab({ session, profile });
  const other = await desktop.tab({ session, profile });
  await desktop.hub.rest.runActions(session, [
    shortcut("a", 1, { osActions: [note] }),
    shortcut("b", 2, { type: "url", target: "https://example.org/docs" }),
    shortcut("c", 3, {}),
  ]);
  const icon = (id: string) => page.locator(`[data-shortcut-id="${id}"]`);
  const elsewhere = (id: string) => other.locator(`[data-shortcut-id="${id}"]`);
  await Promise.all([icon("c").waitFor(), elsewhere("c").waitFor()]);
  await page.bringToFront();

  await icon("a").click();
  await Promise.all([windowOf(page, "note").waitFor(), windowOf(other, "note").waitFor()]);

  await icon("a").focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  const leave = page.locator("dialog.modal"); // windows are dialogs, too
  await leave.getByText("https://example.org/docs").waitFor();
  await page.keyboard.press("Escape");
  await leave.waitFor({ state: "detached" });

  await icon("b").focus();
  await page.keyboard.press("F2");
  await leave.getByRole("textbox").fill("Manual");
  await page.keyboard.press("Enter");
  await until(() => elsewhere("b").innerText()).toContain("Manual");

  await icon("c").click({ button: "right" });
  await page.getByRole("menuitem", { name: "Remove…" }).click();
  await leave.getByRole("button", { name: "Remove", exact: true }).click();
  await Promise.all([icon("c").waitFor({ state: "detached" }), elsewhere("c").waitFor({ state: "detached" })]);
  const { shortcuts } = await desktop.hub.rest.request<{ shortcuts: { label: string }[] }>("GET", `/api/shortcuts?sessionId=${session}`);
  expect(shortcuts.map((s) => s.label)).toEqual(["Icon a", "Manual"]);
});

it("an icon without actions asks the agent", async () => {
  const session = await desktop.hub.rest.newSession("icons");
  await desktop.hub.rest.runActions(session, [shortcut("c", 1, { target: "water the plants" })]);
  const page = await desktop.tab({ session });
  await page.locator('[data-shortcut-id="c"]').click();
  await until(async () => JSON.stringify(await desktop.hub.rest.rows(session))).toContain("water the plants");
});
