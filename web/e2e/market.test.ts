// Apps of the market with the real host: used by people on two devices and driven by agents.

import type { FrameLocator, Page } from "playwright-core";
import { expect, it } from "vitest";
import { findViolations } from "./harness/axe.js";
import { until, windowOf } from "./harness/desktop-page.js";
import { desktopFixture } from "./harness/fixture.js";
import { callTool } from "./harness/tools.js";

const desktop = desktopFixture();

/** Opens an installed app with its icon. */
async function openApp(page: Page, app: string): Promise<FrameLocator> {
  await page.locator(`.win-icons [data-app-id="${app}"]`).click();
  const window = windowOf(page, `app-${app}`);
  await window.waitFor(); // the hub opens it, and agents find it only then
  return window.frameLocator("iframe");
}

it("to-do: a device that has not seen the newest list does not overwrite it", async () => {
  const session = await desktop.hub.rest.newSession("todo");
  const other = await desktop.hub.rest.newSession("todo elsewhere");
  const here = await desktop.tab({ session });
  const there = await desktop.tab({ session: other }); // another browser profile, as on another device
  expect(await callTool(desktop.hub, session, "apps_market_get", { appId: "todo" })).toContain("installed");
  await there.reload();
  const mine = await openApp(here, "todo");
  const theirs = await openApp(there, "todo");
  const add = async (app: FrameLocator, text: string): Promise<void> => {
    await app.getByLabel("What is to be done?").fill(text);
    await app.getByRole("button", { name: "Add" }).click();
  };
  const items = (app: FrameLocator): Promise<string[]> => app.locator("#list input[type=text]").evaluateAll((all) => all.map((e) => (e as HTMLInputElement).value));
  await add(mine, "milk");
  await until(() => items(theirs)).toEqual(["milk"]);
  await theirs.getByLabel("Done: milk").check();
  await until(() => mine.getByLabel("Done: milk").isChecked()).toBe(true);

  // While a change is on its way, an agent writes the list.
  desktop.guard.expect(/412/);
  let first = true;
  await there.route("**/app-data/todo/todo.json", async (route) => {
    if (route.request().method() === "PUT" && first) {
      first = false;
      await callTool(desktop.hub, session, "apps_write_config", { appId: "todo", filename: "todo.json", content: { items: [{ id: "x", text: "by the agent", done: false }] } });
    }
    await route.continue();
  });
  await add(theirs, "lost");
  await until(() => theirs.locator("#notice").innerText()).toContain("changed elsewhere");
  await until(() => items(theirs)).toEqual(["by the agent"]);
  await until(() => items(mine)).toEqual(["by the agent"]);
  await add(theirs, "again");
  await until(() => items(mine)).toEqual(["by the agent", "again"]);
  expect(await theirs.locator("#notice").innerText()).toBe("");
});

it("kanban: two tabs show one board, which an agent changes", async () => {
  const session = await desktop.hub.rest.newSession("kanban");
  const profile = await desktop.profile();
  const one = await desktop.tab({ session, profile });
  const two = await desktop.tab({ session, profile });
  await callTool(desktop.hub, session, "apps_market_get", { appId: "kanban" });
  const first = await openApp(one, "kanban");
  const second = windowOf(two, "app-kanban").frameLocator("iframe"); // the window is part of the session
  await first.getByLabel("New card in To do").fill("Paint");
  await one.keyboard.press("Enter");
  await second.getByRole("region", { name: "To do" }).getByText("Paint").waitFor();
  const done = await callTool(desktop.hub, session, "window_app_command", { windowId: "app-kanban", command: "add_card", params: { column: "Done", title: "Plan" } });
  expect(done).toContain("complete");
  for (const app of [first, second]) {
    await app.getByRole("region", { name: "Done" }).getByText("Plan").waitFor();
    expect(await app.getByText("Plan", { exact: true }).count()).toBe(1);
  }
});

it("calculator: an agent calculates, and people see it", async () => {
  const session = await desktop.hub.rest.newSession("calculator");
  const page = await desktop.tab({ session });
  await callTool(desktop.hub, session, "apps_market_get", { appId: "calculator" });
  const app = await openApp(page, "calculator");
  await app.getByRole("button", { name: "7", exact: true }).waitFor();
  expect(await callTool(desktop.hub, session, "window_app_command", { windowId: "app-calculator", command: "calculate", params: { expression: "(2+3)*4^2" } })).toContain("80");
  await until(() => app.locator("#history").innerText()).toContain("80");
  expect(await callTool(desktop.hub, session, "window_app_command", { windowId: "app-calculator", command: "calculate", params: { expression: "2+" } })).toContain("error");
  expect(await callTool(desktop.hub, session, "window_app_command", { windowId: "app-calculator", command: "explode" })).toContain("unknown command");
});

/** A command and a query of every other app; what its window shows after the command, also after a reload. */
const svg = '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="30"><rect width="40" height="30" fill="red"/></svg>';
const uses: [app: string, command: string, params: object, query: string, answer: string, shown: string | RegExp][] = [
  ["calendar", "add", { date: new Date().toISOString().slice(0, 10), title: "Concert", time: "19:30" }, "month", "entries", "Concert"],
  ["chart-studio", "set", { type: "bar", title: "Tea", headers: ["day", "cups"], rows: [["Mon", 3], ["Tue", 5]] }, "summary", "5", "Tea"],
  ["csv-explorer", "open", { content: "name,sum\nKim,30\nLee,4\n", name: "sales.csv" }, "table", "sum", "Kim"],
  ["image-viewer", "open", { content: svg, name: "red.svg" }, "view", "red.svg", "red.svg"],
  ["markdown-editor", "open", { content: "# Plan", name: "plan.md" }, "words", "1", "Plan"],
  ["notes", "create", { text: "Milk" }, "notes", "Milk", "Milk"],
  ["timer", "start", { minutes: 90, label: "Roast" }, "timers", "Roast", /Roast/],
];

it.each(uses)("%s: an agent uses it, people see it, and it stays after a reload", async (app, command, params, query, answer, shown) => {
  const session = await desktop.hub.rest.newSession(app);
  const page = await desktop.tab({ session });
  expect(await callTool(desktop.hub, session, "apps_market_get", { appId: app })).toContain("installed");
  await openApp(page, app);
  const text = (): Promise<string> =>
    windowOf(page, `app-${app}`)
      .frameLocator("iframe")
      .locator("body")
      .evaluate((body) => [(body as HTMLElement).innerText, ...[...body.querySelectorAll<HTMLInputElement>("input, textarea")].map((field) => field.value)].join("\n"));
  const window = { windowId: `app-${app}` };
  expect(await callTool(desktop.hub, session, "window_app_command", { ...window, command, params })).toContain("complete");
  await until(text).toMatch(shown);
  expect(await callTool(desktop.hub, session, "window_app_query", { ...window, stateKey: query })).toContain(answer);
  const frame = page.frames().find((f) => f.url().startsWith(desktop.hub.appsUrl))!;
  expect(await findViolations(frame), "violations of the app").toEqual([]);
  await page.reload();
  await until(text).toMatch(shown);
});
