// Observes all pages of a test. Every error of the browser, and every request to another origin than the hub's, fails
// the test unless the test expects it.

import type { BrowserContext } from "playwright-core";

export class Guard {
  /** The addresses of all requests. */
  readonly requests: string[] = [];
  private readonly problems: string[] = [];
  private readonly expected: RegExp[] = [];
  private readonly origins: string[];

  constructor(homes: readonly string[]) {
    this.origins = [...homes];
  }

  /** Allows requests to another address of the hub. */
  allowOrigin(home: string): void {
    this.origins.push(home);
  }

  /** Allows problems that match; for tests that cause them. */
  expect(...patterns: RegExp[]): void {
    this.expected.push(...patterns);
  }

  /** Allows the errors that an unreachable hub causes. */
  expectLostHub(): void {
    this.expect(/WebSocket connection to .* failed/, /net::ERR_(CONNECTION_|INCOMPLETE_|INTERNET_DISCONNECTED|NETWORK_|EMPTY_RESPONSE|ABORTED|SOCKET_)/);
  }

  async watch(context: BrowserContext): Promise<void> {
    context.on("console", (m) => {
      if (m.type() === "error" || (m.type() === "warning" && /polic|violat/i.test(m.text()))) {
        this.problems.push(`console: ${m.text()} (${m.location().url})`);
      }
    });
    context.on("weberror", (e) => this.problems.push(`error: ${e.error().stack ?? e.error().message}`));
    context.on("request", (r) => this.recordRequest(r.url()));
    context.on("requestfailed", (r) => {
      // A request that a policy blocks is never sent.
      if (/csp|BLOCKED_BY_CSP/i.test(r.failure()?.errorText ?? "")) this.removeRequest(r.url());
    });
    context.on("page", (p) => p.on("websocket", (s) => this.recordRequest(s.url())));
    await context.addInitScript(() => {
      document.addEventListener("securitypolicyviolation", (e) => {
        console.error(`policy: ${e.effectiveDirective} blocked ${e.blockedURI} in ${e.sourceFile}:${e.lineNumber} ${e.sample}`);
      });
    });
  }

  private recordRequest(url: string): void {
    this.requests.push(url);
    if (/^(data|blob|about):/.test(url)) return;
    const origin = url.replace(/^ws:/, "http:");
    if (!this.origins.some((h) => origin === h || origin.startsWith(`${h}/`))) this.problems.push(`request: ${url}`);
  }

  private removeRequest(url: string): void {
    for (const [list, entry] of [
      [this.requests, url],
      [this.problems, `request: ${url}`],
    ] as const) {
      const at = list.lastIndexOf(entry);
      if (at >= 0) list.splice(at, 1);
    }
  }

  /** The problems that no test expected. */
  get unexpected(): string[] {
    return this.problems.filter((c) => !this.expected.some((p) => p.test(c)));
  }
}
