// The fixture of a test file: the browser of its worker, one hub, and for every test new browser profiles and a guard.
// Everything but the browser is removed afterwards, also when a test fails.

import { join } from "node:path";
import type { Browser, BrowserContext, BrowserContextOptions, CDPSession, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect } from "vitest";
import type { SessionID } from "../../core/src/index.js";
import type { Prefs } from "../../desktop/src/shell/prefs.js";
import { openBrowser } from "./browser.js";
import { Guard } from "./guard.js";
import { Hub, type HubOptions } from "./hub.js";
import { waitLimit } from "./limits.js";

export interface TabOptions {
  session?: SessionID;
  monitor?: string;
  /** A browser profile to share with other tabs; a new one by default. */
  profile?: BrowserContext;
  /** The preferences of a new profile. */
  prefs?: Partial<Prefs>;
  context?: BrowserContextOptions;
}

/** A desktop-sized screen without animations. */
const defaultContext: BrowserContextOptions = { viewport: { width: 1280, height: 800 }, reducedMotion: "reduce", locale: "en-GB", timezoneId: "UTC" };

export class DesktopFixture {
  private theBrowser: Browser | undefined;
  private theHub: Hub | undefined;
  private theGuard: Guard | undefined;
  private readonly profiles: BrowserContext[] = [];
  private readonly options: HubOptions;

  constructor(options: HubOptions) {
    this.options = options;
  }

  get hub(): Hub {
    return this.theHub!;
  }

  get guard(): Guard {
    return this.theGuard!;
  }

  get browser(): Browser {
    return this.theBrowser!;
  }

  async open(): Promise<void> {
    this.theBrowser = await openBrowser();
    this.theHub = await Hub.start(this.options);
  }

  async close(): Promise<void> {
    await this.theHub?.stop();
  }

  beginTest(): void {
    this.theGuard = new Guard([this.hub.url, this.hub.appsUrl]);
  }

  /** Ends a test. If it failed, screenshots of its pages are saved in the folder that E2E_PICTURES names, if set. */
  async endTest(failed: string | undefined): Promise<void> {
    const unexpected = this.guard.unexpected;
    const folder = process.env.E2E_PICTURES;
    if (folder !== undefined && (failed !== undefined || unexpected.length > 0)) {
      const pages = this.profiles.flatMap((p) => p.pages());
      const name = (failed ?? "complaints").replaceAll(/[^\p{L}\d]+/gu, "-").slice(0, 60);
      await Promise.all(pages.map((page, n) => page.screenshot({ path: join(folder, `${name}-${n}.png`), timeout: 5_000 }).catch(() => undefined)));
    }
    await Promise.all(this.profiles.splice(0).map((p) => p.close()));
    expect(unexpected, "what the browser complained about").toEqual([]);
  }

  /** A new browser profile that is not signed in. */
  async profile(prefs: Partial<Prefs> = {}, more: BrowserContextOptions = {}): Promise<BrowserContext> {
    const profile = await this.browser.newContext({ ...defaultContext, ...more });
    profile.setDefaultTimeout(waitLimit);
    this.profiles.push(profile);
    await this.guard.watch(profile);
    // The preferences from before the test; changes during the test stay.
    await profile.addInitScript(
      (chosen) => {
        try {
          localStorage.getItem("everdesk.prefs") ?? localStorage.setItem("everdesk.prefs", chosen);
        } catch {
          // A frame with an opaque origin has no storage.
        }
      },
      JSON.stringify({ toured: true, language: "en", theme: "dark", ...prefs }),
    );
    return profile;
  }

  /** Signs a profile in without loading a page: a page load takes as long as most of a test. */
  async signIn(profile: BrowserContext): Promise<void> {
    const token = new URL(this.hub.entry).searchParams.get("token");
    const answer = await profile.request.post(`${this.hub.url}/api/login`, { data: { token } });
    expect(answer.status(), await answer.text()).toBe(200);
  }

  /** A signed-in tab that shows a session. */
  async tab(options: TabOptions = {}): Promise<Page> {
    const profile = options.profile ?? (await this.profile(options.prefs, options.context));
    const page = await profile.newPage();
    const known = (await profile.cookies(this.hub.url)).length > 0;
    if (!known) await this.signIn(profile);
    await page.goto(this.address(options.session ?? (await this.hub.rest.newSession()), options.monitor));
    await ready(page);
    return page;
  }

  address(session: SessionID, monitor?: string): string {
    return `${this.hub.url}/?${new URLSearchParams({ session, ...(monitor === undefined ? {} : { monitor }) })}`;
  }
}

/** Waits until a page shows its session. */
export async function ready(page: Page): Promise<void> {
  await page.locator("[data-link=live]").first().waitFor();
}

/** The DevTools session of a page. */
export function devtools(page: Page): Promise<CDPSession> {
  return page.context().newCDPSession(page);
}

/** Creates the fixture of a test file. */
export function desktopFixture(options: HubOptions = {}): DesktopFixture {
  const s = new DesktopFixture(options);
  beforeAll(() => s.open());
  afterAll(() => s.close());
  beforeEach(() => s.beginTest());
  afterEach(({ task }) => s.endTest(task.result?.state === "fail" ? task.name : undefined));
  return s;
}
