// The history that a model gets after users have changed it: exactly the remaining messages, and no removed ones.

import type { Page } from "playwright-core";
import { afterAll, expect, it } from "vitest";
import type { SessionID } from "../core/src/index.js";
import { sendMessage, shownRows, until, waitForRow, windowOf } from "./harness/desktop-page.js";
import { desktopFixture, ready } from "./harness/fixture.js";
import { Model, type ModelMessage } from "./harness/model.js";

const model = await Model.start();
afterAll(() => model.stop());
const desktop = desktopFixture({ flags: model.flags });

const list = JSON.stringify({ windowId: "list", title: "List", content: { renderer: "text", content: "tea" } });
const opens = `/call window_create ${list}\n/say Here is the list.`;

const user = (...blocks: string[]): ModelMessage => ({ role: "user", blocks });
const assistant = (...blocks: string[]): ModelMessage => ({ role: "assistant", blocks });
/** A message that is sent while the window is open. */
const later = (text: string): string => `<open_windows>list (text "List" 460×320)</open_windows>\n\n${text}`;

/** The messages of the last request, without what the hub says about the agent, the place and the time. */
function lastRequest(): ModelMessage[] {
  const told = /<(your_role|not_your_tools|environment|now)>[^]*?<\/\1>\s*/g;
  return model.requests.at(-1)!.map(({ role, blocks }) => ({ role, blocks: blocks.map((b) => b.replace(told, "")).filter((b) => b !== "") }));
}

const beginning = [
  user("/say The kettle is on."),
  assistant("The kettle is on."),
  user(opens),
  assistant(`calls window_create ${list}`),
  user('result Opened window "list".'),
  assistant("Here is the list."),
];
const summary = "Summary of the conversation so far:\n\nAll of it in short: 8 messages.";

it("a model gets the summary and the remaining messages, and the originals again after the summary is rewound", async () => {
  const session = await desktop.hub.rest.newSession("history");
  const page = await desktop.tab({ session });
  const sendTurn = async (text: string, answer: string): Promise<void> => {
    await sendMessage(page, text);
    await waitForAnswer(session, page, answer);
  };
  const edit = async (what: string, text: string, answer: string): Promise<void> => {
    await editMessage(page, what, text);
    await waitForAnswer(session, page, answer);
  };

  await sendTurn("/say The kettle is on.", "The kettle is on.");
  await sendTurn(opens, "Here is the list.");
  await windowOf(page, "list").waitFor();
  await sendTurn("/say Two cups it is.", "Two cups it is.");
  expect(lastRequest()).toEqual([...beginning, user(later("/say Two cups it is."))]);

  await page.getByRole("button", { name: "Sum up", exact: true }).click();
  await page.locator("[data-row][data-kind=condensed]").waitFor();
  await waitUntilIdle(session);
  await sendTurn("/say The milk is in.", "The milk is in.");
  expect(lastRequest()).toEqual([user(summary, later("/say The milk is in."))]);
  await sendTurn("/say The sugar is in.", "The sugar is in.");
  await sendTurn("/say It is ready.", "It is ready.");

  await edit("The sugar is in", "/say No sugar.", "No sugar.");
  expect(lastRequest()).toEqual([user(summary, later("/say The milk is in.")), assistant("The milk is in."), user(later("/say No sugar."))]);
  await edit("The milk is in", "/say No milk.", "No milk.");
  expect(lastRequest()).toEqual([user(summary, later("/say No milk."))]);
  await until(() => lastUserLines(page)).toEqual(["/say The kettle is on.", "/say Here is the list.", "/say Two cups it is.", "/say No milk."]);
  await expectSameInTabs(session, page);

  await edit("Two cups it is", "/say One cup it is.", "One cup it is.");
  expect(lastRequest()).toEqual([...beginning, user(later("/say One cup it is."))]);
  await until(() => lastUserLines(page)).toEqual(["/say The kettle is on.", "/say Here is the list.", "/say One cup it is."]);
  expect(await shownRows(page, "condensed")).toEqual([]);
  await expectSameInTabs(session, page);

  await sendTurn("/say Enjoy.", "Enjoy.");
  expect(lastRequest()).toEqual([...beginning, user(later("/say One cup it is.")), assistant("One cup it is."), user(later("/say Enjoy."))]);
});

/** Waits until no agent works. */
async function waitUntilIdle(session: SessionID): Promise<void> {
  await until(async () => ((await desktop.hub.rest.snapshot(session)).agents ?? []).every((a) => a.status === "idle")).toBe(true);
}

async function waitForAnswer(session: SessionID, page: Page, answer: string): Promise<void> {
  await waitForRow(page, answer);
  await waitUntilIdle(session);
}

/** Edits a message in the drawer. */
async function editMessage(page: Page, what: string, text: string): Promise<void> {
  const row = page.locator("[data-row][data-kind=user]").filter({ hasText: what });
  await row.hover();
  await row.getByRole("button", { name: "What to do with this message" }).click();
  await page.getByRole("menuitem", { name: "Edit" }).click();
  const field = page.getByRole("textbox", { name: "Edit what you said" });
  await field.fill(text);
  await field.press("Enter");
}

/** The last lines of the users' messages. */
async function lastUserLines(page: Page): Promise<string[]> {
  return (await shownRows(page, "user")).map((r) => lastLine(r.text));
}

function lastLine(text: string): string {
  return text.split("\n").at(-1)!;
}

/** A reloaded tab and a new one show the same rows. */
async function expectSameInTabs(session: SessionID, page: Page): Promise<void> {
  const rows = async (of: Page): Promise<object[]> => (await shownRows(of)).map((r) => ({ ...r, text: lastLine(r.text) }));
  const before = await rows(page);
  const kept = new Set((await desktop.hub.rest.rows(session)).map((r) => `${r.ts}`));
  expect((await shownRows(page)).filter((r) => !kept.has(r.ts))).toEqual([]);
  await page.reload();
  await ready(page);
  await until(() => rows(page)).toEqual(before);
  const other = await desktop.tab({ session });
  await until(() => rows(other)).toEqual(before);
  await other.close();
}
