// Watches all pages of a test. Whatever the browser complains about, and every request that goes to somebody else than
// the hub, fails the test unless it said before that it expects it.

import type { BrowserContext } from "playwright-core";

export class Guard {
  /** Everything that was asked for, by address. */
  readonly requests: string[] = [];
  private readonly complaints: string[] = [];
  private readonly expected: RegExp[] = [];
  private readonly homes: string[];

  constructor(homes: readonly string[]) {
    this.homes = [...homes];
  }

  /** Another address of the hub. */
  welcome(home: string): void {
    this.homes.push(home);
  }

  /** The test makes the browser complain in this way. */
  expect(...patterns: RegExp[]): void {
    this.expected.push(...patterns);
  }

  /** A hub that is away makes the browser complain about every try to reach it. */
  expectLostHub(): void {
    this.expect(/WebSocket connection to .* failed/, /net::ERR_(CONNECTION_|INCOMPLETE_|INTERNET_DISCONNECTED|NETWORK_|EMPTY_RESPONSE|ABORTED|SOCKET_)/);
  }

  async watch(context: BrowserContext): Promise<void> {
    context.on("console", (m) => {
      if (m.type() === "error" || (m.type() === "warning" && /polic|violat/i.test(m.text()))) {
        this.complaints.push(`console: ${m.text()} (${m.location().url})`);
      }
    });
    context.on("weberror", (e) => this.complaints.push(`error: ${e.error().stack ?? e.error().message}`));
    context.on("request", (r) => this.note(r.url()));
    context.on("requestfailed", (r) => {
      // What a policy forbids is never sent.
      if (/csp|BLOCKED_BY_CSP/i.test(r.failure()?.errorText ?? "")) this.forget(r.url());
    });
    context.on("page", (p) => p.on("websocket", (s) => this.note(s.url())));
    await context.addInitScript(() => {
      document.addEventListener("securitypolicyviolation", (e) => {
        console.error(`policy: ${e.effectiveDirective} blocked ${e.blockedURI} in ${e.sourceFile}:${e.lineNumber} ${e.sample}`);
      });
    });
  }

  private note(url: string): void {
    this.requests.push(url);
    if (/^(data|blob|about):/.test(url)) return;
    const home = url.replace(/^ws:/, "http:");
    if (!this.homes.some((h) => home === h || home.startsWith(`${h}/`))) this.complaints.push(`request: ${url}`);
  }

  private forget(url: string): void {
    for (const [list, entry] of [
      [this.requests, url],
      [this.complaints, `request: ${url}`],
    ] as const) {
      const at = list.lastIndexOf(entry);
      if (at >= 0) list.splice(at, 1);
    }
  }

  /** What was not expected. */
  get unexpected(): string[] {
    return this.complaints.filter((c) => !this.expected.some((p) => p.test(c)));
  }
}
