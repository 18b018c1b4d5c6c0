// Tests the guard itself: a guard that records nothing would let everything pass.

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it } from "vitest";
import { until } from "./harness/desktop-page.js";
import { desktopFixture } from "./harness/fixture.js";

const desktop = desktopFixture();

it("the guard records errors, policy violations and requests to other origins", async () => {
  const others = createServer((_, answer) => answer.end("x"));
  await new Promise<void>((done) => others.listen(0, "127.0.0.1", done));
  try {
    const profile = await desktop.profile();
    const page = await profile.newPage();
    await page.goto(desktop.hub.entry);
    const stranger = `http://127.0.0.1:${(others.address() as AddressInfo).port}/x.png`;
    await page.evaluate(() => {
      console.error("heard");
      setTimeout(() => {
        throw new Error("thrown");
      });
      const script = document.createElement("script");
      script.append("globalThis.ran = true");
      document.head.append(script);
    });
    const kinds = [/console: heard/, /error: .*thrown/, /policy: (script-src|require-trusted-types)/];
    await until(() => kinds.filter((k) => !desktop.guard.unexpected.some((c) => k.test(c)))).toEqual([]);
    await page.goto(stranger);
    await until(() => desktop.guard.unexpected.some((c) => c === `request: ${stranger}`)).toBe(true);
    expect(await page.evaluate(() => "ran" in globalThis)).toBe(false);
    desktop.guard.expect(...kinds, /Content Security Policy/, /Trusted/, /request: /, /favicon|404/);
  } finally {
    others.close();
  }
});
