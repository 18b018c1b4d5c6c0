// One session in several tabs, which all show the same.

import { expect, it } from "vitest";
import { centre, commandBar, drag, sendMessage, shownBounds, shownRows, shownWindows, titleBar, until, waitForRow, windowOf } from "./harness/desktop-page.js";
import { desktopFixture } from "./harness/fixture.js";

const desktop = desktopFixture();

it("two tabs show the same messages, windows, moves and drafts; closing one changes nothing", async () => {
  const session = await desktop.hub.rest.newSession("two tabs");
  const profile = await desktop.profile();
  const one = await desktop.tab({ session, profile });
  const two = await desktop.tab({ session, profile });

  await sendMessage(one, "/say hello from the first tab\n/window note Shared note | # One text");
  await waitForRow(one, "hello from the first tab");
  await waitForRow(two, "hello from the first tab");
  await Promise.all([one, two].map((tab) => windowOf(tab, "note").getByText("One text").waitFor()));

  await drag(one, await centre(titleBar(one, "note")), { x: 90, y: 60 });
  const moved = (await desktop.hub.rest.window(session, "note"))!.bounds;
  await until(() => shownBounds(two, "note")).toEqual(await shownBounds(one, "note"));
  await until(async () => (await desktop.hub.rest.window(session, "note"))?.bounds).toMatchObject({ w: moved.w, h: moved.h });

  await commandBar(one).fill("half a thought");
  await until(() => commandBar(two).inputValue()).toBe("half a thought");
  await commandBar(two).fill("");
  await until(() => commandBar(one).inputValue()).toBe("");

  const before = await shownBounds(two, "note");
  await one.close();
  await sendMessage(two, "/say still here");
  await waitForRow(two, "still here");
  expect(await shownBounds(two, "note")).toEqual(before);
  expect(await shownWindows(two)).toEqual(["note"]);
  expect((await shownRows(two, "user")).length).toBe(2);
});

it("a tab can show another monitor of the session", async () => {
  const session = await desktop.hub.rest.newSession("two monitors");
  const profile = await desktop.profile();
  const first = await desktop.tab({ session, profile });
  await first.getByRole("button", { name: "New monitor" }).click();
  await first.locator('[role=tab][data-monitor-id="monitor-1"][aria-selected=true]').waitFor();
  await first.locator('[role=tab][data-monitor-id="monitor-0"]').click();
  const second = await desktop.tab({ session, profile, monitor: "monitor-1" });

  await sendMessage(second, "/window aside On the side | # Second screen");
  await windowOf(second, "aside").getByText("Second screen").waitFor();
  expect((await desktop.hub.rest.window(session, "aside"))?.monitorId).toBe("monitor-1");
  await sendMessage(first, "/window front In front | # First screen");
  await windowOf(first, "front").getByText("First screen").waitFor();
  expect(await shownWindows(first)).toEqual(["front"]);
  expect(await shownWindows(second)).toEqual(["aside"]);

  await first.locator('[role=tab][data-monitor-id="monitor-1"]').click();
  await windowOf(first, "aside").waitFor();
  await second.reload();
  await windowOf(second, "aside").waitFor();
  expect(await shownWindows(second)).toEqual(["aside"]);

  await first.getByRole("button", { name: "Menu of monitor 2" }).click();
  await first.getByRole("menuitem", { name: "Close monitor" }).click();
  await first.getByRole("button", { name: "Close monitor" }).click();
  await second.getByText("This monitor was closed").waitFor();
  expect(await second.locator("[data-command-bar]").count()).toBe(0);
  await second.getByRole("link", { name: "Show the whole session" }).click();
  await windowOf(second, "front").waitFor();
});
