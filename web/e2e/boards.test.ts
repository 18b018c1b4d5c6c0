// Checklists, boards and tables that users edit: other tabs see it, a killed hub keeps it, and the agent learns of it.

import { expect, it } from "vitest";
import { findViolations } from "./harness/axe.js";
import { centre, sendMessage, until, waitForLink, waitForRow, windowOf } from "./harness/desktop-page.js";
import { desktopFixture } from "./harness/fixture.js";

const desktop = desktopFixture();

it("a tick shows in the other tab, is there after the hub was killed, and the agent's next turn has it", { timeout: 90_000 }, async () => {
  const session = await desktop.hub.rest.newSession("ticks");
  const one = await desktop.tab({ session });
  const two = await desktop.tab({ session, prefs: { language: "ko" } });
  await sendMessage(one, "make a to-do list: milk, eggs");
  const here = windowOf(one, "todo-1");
  const there = windowOf(two, "todo-1");
  await here.getByRole("checkbox", { name: "milk" }).click();
  await until(() => there.getByRole("checkbox", { name: "milk" }).isChecked()).toBe(true);
  expect(await there.innerText()).toContain("2개 중 1개 완료");
  expect([...(await findViolations(one)), ...(await findViolations(two))]).toEqual([]);

  // Keyboard: add, rename, move, delete.
  await there.getByRole("textbox", { name: "항목 추가" }).fill("차");
  await two.keyboard.press("Enter");
  await here.getByRole("checkbox", { name: "차" }).focus();
  await one.keyboard.press("Alt+ArrowUp");
  const texts = async (): Promise<string[]> => (await there.locator(".checklist-item").allInnerTexts()).map((t) => t.trim());
  await until(texts).toEqual(["milk", "차", "eggs"]);
  await one.keyboard.press("F2");
  await one.keyboard.type("green tea");
  await one.keyboard.press("Enter");
  await until(texts).toEqual(["milk", "green tea", "eggs"]);
  await here.getByRole("checkbox", { name: "eggs" }).focus();
  await one.keyboard.press("Delete");
  await until(texts).toEqual(["milk", "green tea"]);

  desktop.guard.expectLostHub();
  await desktop.hub.kill();
  // An edit that is made while the hub is away is shown, and stored when it is back.
  await here.getByRole("checkbox", { name: "green tea" }).click();
  await until(() => here.getByRole("checkbox", { name: "green tea" }).isChecked()).toBe(true);
  await desktop.hub.up();
  await waitForLink(two, "live");
  await until(() => there.getByRole("checkbox", { checked: true }).count()).toBe(2);
  await two.reload();
  await until(() => there.getByRole("checkbox", { checked: true }).count()).toBe(2);
  await sendMessage(one, "/recall");
  const row = await waitForRow(one, /ui:edit/);
  for (const told of ["ticked: milk", "added the item: 차", "renamed 차 to green tea", "removed the item: eggs", "ticked: green tea"]) expect(await row.innerText()).toContain(told);
});

it("cards move with the pointer, the keyboard and the menu, in all tabs", async () => {
  const session = await desktop.hub.rest.newSession("board");
  const one = await desktop.tab({ session });
  const two = await desktop.tab({ session, prefs: { language: "ko" } });
  await sendMessage(one, "open a kanban board: plan, build");
  const here = windowOf(one, "kanban-1");
  const there = windowOf(two, "kanban-1");
  const columns = async (): Promise<string[][]> => Promise.all((await there.locator(".kanban-column").all()).map((c) => c.locator(".kanban-text").allInnerTexts()));
  await until(columns).toEqual([["plan", "build"], [], []]);

  await here.locator(".kanban-card", { hasText: "plan" }).focus();
  await one.keyboard.press("Shift+ArrowRight");
  await until(columns).toEqual([["build"], ["plan"], []]);
  await until(() => one.evaluate(() => document.activeElement?.getAttribute("data-card"))).toBe("plan");
  await one.keyboard.press("Shift+ArrowRight");
  await until(columns).toEqual([["build"], [], ["plan"]]);

  const from = await centre(here.locator(".kanban-card", { hasText: "build" }));
  const to = await centre(here.locator(".kanban-card", { hasText: "plan" }));
  await one.mouse.move(from.x, from.y);
  await one.mouse.down();
  await one.mouse.move(to.x, to.y + 12, { steps: 5 });
  await one.mouse.up();
  await until(columns).toEqual([[], [], ["plan", "build"]]);

  await there.locator(".kanban-card", { hasText: "plan" }).getByRole("button").click();
  await two.getByRole("menuitem", { name: "옮기기: Doing" }).click();
  await until(columns).toEqual([[], ["plan"], ["build"]]);
  expect([...(await findViolations(one)), ...(await findViolations(two))]).toEqual([]);
});

it("cells are written in their format and edited, rows are added and deleted, and a lost race is told", async () => {
  const session = await desktop.hub.rest.newSession("cells");
  const one = await desktop.tab({ session });
  const two = await desktop.tab({ session, prefs: { language: "ko" } });
  const table = { headers: ["Item", "Share", "Price"], rows: [["Rent", "0.4", "930.5"], ["Tea", "0.1", "1200"]], formats: [{}, { kind: "percent" }, { kind: "currency", currency: "EUR" }] };
  await sendMessage(one, `/call window:create ${JSON.stringify({ windowId: "costs", title: "Costs", content: { renderer: "table", content: table } })}`);
  const here = windowOf(one, "costs");
  const there = windowOf(two, "costs");
  const cells = async (): Promise<string[]> => there.locator("tbody td[data-place]").allInnerTexts();
  await until(cells).toEqual(["Rent", "40%", "€930.50", "Tea", "10%", "€1,200.00"]);

  await here.getByText("€930.50").dblclick();
  await one.keyboard.type("950");
  await one.keyboard.press("Enter");
  await until(cells).toEqual(["Rent", "40%", "€950.00", "Tea", "10%", "€1,200.00"]);
  await one.keyboard.press("ArrowDown");
  await one.keyboard.press("Enter");
  await one.keyboard.type("1");
  // The table changes while a cell is edited: the editor stays, with its text.
  await there.getByText("€950.00").dblclick();
  await two.keyboard.type("960");
  await two.keyboard.press("Enter");
  await here.getByText("€960.00").waitFor();
  expect(await one.evaluate(() => (document.activeElement as HTMLInputElement | HTMLTextAreaElement | null)?.value)).toBe("1");
  await there.getByText("€960.00").dblclick();
  await two.keyboard.type("950");
  await two.keyboard.press("Enter");
  await here.getByText("€950.00").waitFor();
  await one.keyboard.press("Escape");
  await until(() => one.evaluate(() => document.activeElement?.textContent)).toBe("€1,200.00");

  await here.getByRole("button", { name: "Add a row" }).click();
  await until(cells).toEqual(["Rent", "40%", "€950.00", "Tea", "10%", "€1,200.00", "", "", ""]);
  await here.locator("td[data-place='1 0']").focus();
  await one.keyboard.press("Shift+Delete");
  await until(cells).toEqual(["Rent", "40%", "€950.00", "", "", ""]);

  // Both edit the same cell: the second gets a notification.
  await here.getByText("Rent").dblclick();
  await there.getByText("Rent").dblclick();
  await two.keyboard.type("집세");
  await two.keyboard.press("Enter");
  await until(cells).toContain("집세");
  expect([...(await findViolations(one)), ...(await findViolations(two))]).toEqual([]);
});
