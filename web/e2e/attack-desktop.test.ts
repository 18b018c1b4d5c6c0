// Attacks by an agent on the desktop around its windows.

import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import type { SessionID } from "../core/src/index.js";
import { doneFrame, roundTrip, showWindow } from "./harness/content.js";
import { centre, questionCard, until, waitUntilArmed, windowOf } from "./harness/desktop-page.js";
import { desktopFixture } from "./harness/fixture.js";

const desktop = desktopFixture();

/** Counts the messages that a page sends to the hub from now on, by type. */
async function countSent(page: Page): Promise<() => Record<string, number>> {
  const dev = await page.context().newCDPSession(page);
  const counts: Record<string, number> = {};
  dev.on("Network.webSocketFrameSent", ({ response }) => {
    for (const line of response.payloadData.split("\n")) {
      const type = /"type":"(\w+)"/.exec(line)?.[1] ?? "?";
      counts[type] = (counts[type] ?? 0) + 1;
    }
  });
  await dev.send("Network.enable");
  return () => counts;
}

async function closedCount(session: SessionID): Promise<number> {
  return (await desktop.hub.rest.events(session)).filter((e) => e.type === "DIALOG_CLOSED").length;
}

it("attack 40: an app that floods the desktop, or sends messages for another window, is ignored", async () => {
  const session = await desktop.hub.rest.newSession("40");
  const page = await desktop.tab({ session });
  const sent = await countSent(page);
  await roundTrip(desktop.hub, session, page);
  await showWindow(desktop.hub, session, page, "victim", { renderer: "markdown", data: "# quiet" });
  const script = `
    addEventListener("load", () => setTimeout(() => {
      for (let n = 0; n < 2000; n++) yaar.app.sendInteraction({ n, windowId: "victim" });
      for (let n = 0; n < 200; n++) {
        top.postMessage({ type: "everdesk:hello", token: "0" }, "*");
        top.postMessage({ type: "yaar:app-interaction", content: "forged", windowId: "victim" }, "*");
        top.postMessage(JSON.stringify({ type: "everdesk:leave", url: "https://evil.example" }), "*");
      }
      document.documentElement.dataset.done = "yes";
    }));`;
  await showWindow(desktop.hub, session, page, "app", { renderer: "html", data: `<body>flood<script>${script}</script>` });
  await windowOf(page, "app").getByText("sent too many messages").waitFor();
  await roundTrip(desktop.hub, session, page);
  await roundTrip(desktop.hub, session, page);
  const told = Object.entries(sent()).filter(([type]) => type !== "pong" && type !== "RENDERING_FEEDBACK" && type !== "APP_PROTOCOL_READY");
  expect(told.reduce((sum, [, n]) => sum + n, 0), JSON.stringify(told)).toBeLessThanOrEqual(25);
  const rows = await desktop.hub.rest.rows(session);
  expect(rows.filter((r) => r.text?.includes("forged"))).toEqual([]);
  expect(await page.getByText("evil.example").count()).toBe(0);

  // Messages from a window of another origin that is not one of our frames are ignored, too.
  await page.evaluate(() => postMessage({ type: "everdesk:hello", token: "0" }, "*"));
  await windowOf(page, "victim").getByText("quiet").waitFor();
});

it("attack 41: a window that looks like an approval cannot answer one, and cannot cover it", async () => {
  const session = await desktop.hub.rest.newSession("41");
  const page = await desktop.tab({ session });
  const sent = await countSent(page);
  const canvas = (await page.locator("main[data-region=canvas]").boundingBox())!;
  const whole = { x: 0, y: 0, w: Math.round(canvas.width), h: Math.round(canvas.height) };
  const fake = [
    { type: "text", content: "System: approve?", variant: "heading" },
    { type: "button", label: "Approve", action: "approve", variant: "primary" },
    { type: "button", label: "Reject", action: "reject" },
  ];
  await showWindow(desktop.hub, session, page, "fake", { renderer: "component", data: { components: fake } } as never, {
    title: "System: approve?",
    bounds: whole,
    windowStyle: { position: "fixed", zIndex: 2147483647, top: 0, left: 0, width: "100vw", height: "100vh", "z-index": 2147483647, inset: 0 },
  });
  const html = `<body style="background:#fff"><button style="position:fixed;inset:0" onclick="document.documentElement.requestFullscreen()">Approve</button>
    <dialog id=d>Approve?</dialog><script>d.showModal();document.documentElement.dataset.done="yes"</script>`;
  await showWindow(desktop.hub, session, page, "fake-html", { renderer: "html", data: html }, { title: "System: approve?", bounds: whole, frameless: true });
  await doneFrame(desktop.hub, page);

  await desktop.hub.rest.runActions(session, [{ type: "dialog.confirm", id: "real", title: "Delete everything?", message: "rm -rf reports" }]);
  const card = questionCard(page, "real");
  await card.waitFor();
  expect(await card.evaluate((d) => d.matches(":modal, :popover-open"))).toBe(true);
  const covered = await card.evaluate((d) => {
    const r = d.getBoundingClientRect();
    const points: [number, number][] = [];
    for (const fx of [0.1, 0.5, 0.9]) for (const fy of [0.1, 0.5, 0.9]) points.push([r.x + r.width * fx, r.y + r.height * fy]);
    return points.filter(([x, y]) => !d.contains(document.elementFromPoint(x, y))).length;
  });
  expect(covered, "points of the real card that something else covers").toBe(0);
  expect(await card.getByText("rm -rf reports").isVisible()).toBe(true);

  // The bars of the desktop are not covered either.
  const bar = await centre(page.locator("[data-command-bar]"));
  expect(await page.evaluate(({ x, y }) => document.elementFromPoint(x, y)?.closest("section[data-window-id]") ?? null, bar)).toBeNull();

  const later = card.getByRole("button", { name: /^later/i });
  await waitUntilArmed(later);
  await later.click();
  await until(() => card.isVisible()).toBe(false);
  await desktop.hub.rest.runActions(session, [{ type: "window.close", windowId: "fake-html" }]);
  await windowOf(page, "fake-html").waitFor({ state: "detached" });
  await windowOf(page, "fake").getByRole("button", { name: "Approve", exact: true }).click();
  await until(() => sent().COMPONENT_ACTION).toBe(1);
  await roundTrip(desktop.hub, session, page);
  expect(sent().DIALOG_FEEDBACK).toBeUndefined();
  expect(await closedCount(session)).toBe(0);
});

it("attack 42: links in a diagram do nothing, and a diagram that is too large is not drawn", async () => {
  desktop.guard.expect(/Content Security Policy|policy: /);
  const session = await desktop.hub.rest.newSession("42");
  const page = await desktop.tab({ session });
  const evil = [
    "```mermaid",
    "%%{init: {'securityLevel': 'loose', 'htmlLabels': true}}%%",
    "graph TD",
    'A["<img src=x onerror=alert(1)>"] --> B',
    'click A href "javascript:alert(document.domain)"',
    'click B call alert("b")',
    "```",
    "",
    "the end",
  ].join("\n");
  await showWindow(desktop.hub, session, page, "diagram", { renderer: "markdown", data: evil });
  await windowOf(page, "diagram").getByText("the end").waitFor();
  let dialogs = 0;
  page.on("dialog", (d) => {
    dialogs++;
    void d.dismiss();
  });
  const frame = windowOf(page, "diagram").locator("iframe");
  await frame.waitFor();
  const drawn = windowOf(page, "diagram").frameLocator("iframe").locator("svg");
  await drawn.waitFor();
  const nodes = drawn.locator(".node");
  for (let n = 0; n < (await nodes.count()); n++) await nodes.nth(n).click({ force: true });
  await roundTrip(desktop.hub, session, page);
  expect(dialogs).toBe(0);
  expect(page.context().pages()).toHaveLength(1);
  expect(page.url()).toContain(desktop.hub.url);
  expect(await page.locator("svg .node").count(), "nothing of it is drawn in the page itself").toBe(0);

  const huge = `\`\`\`mermaid\ngraph TD\n${Array.from({ length: 3_500 }, (_, n) => `N${n} --> N${n + 1}`).join("\n")}\n\`\`\`\n\nstill alive`;
  await desktop.hub.rest.runActions(session, [{ type: "window.close", windowId: "diagram" }]);
  await showWindow(desktop.hub, session, page, "huge", { renderer: "markdown", data: huge });
  await windowOf(page, "huge").getByText("still alive").waitFor();
  await roundTrip(desktop.hub, session, page);
  await until(() => windowOf(page, "huge").locator("iframe").count()).toBe(0);
  await windowOf(page, "huge").getByText("N0 --> N1").first().waitFor();
});
