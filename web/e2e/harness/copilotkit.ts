// The example page with CopilotKit's own chat (web/examples/copilotkit), on an origin of its own. `make test-agui` installs
// CopilotKit and builds the page; COPILOTKIT_PAGE is its folder.

import { readFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join } from "node:path";
import type { Page } from "playwright-core";

const types: Record<string, string> = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css" };

/** The server of the page. */
export class KitSite {
  readonly origin: string;
  private readonly server: Server;

  private constructor(server: Server) {
    this.server = server;
    this.origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  static async start(): Promise<KitSite> {
    const server = createServer(async (request, response) => {
      const name = new URL(request.url ?? "", "http://site").pathname;
      const body = await readFile(join(process.env.COPILOTKIT_PAGE ?? "", name === "/" ? "index.html" : name)).catch(() => undefined);
      response.writeHead(body ? 200 : 404, { "content-type": types[name === "/" ? ".html" : extname(name)] ?? "application/octet-stream" }).end(body);
    });
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    return new KitSite(server);
  }

  address(hub: string, thread: string, token: string): string {
    return `${this.origin}/?${new URLSearchParams({ hub, thread })}#${new URLSearchParams({ token })}`;
  }

  stop(): Promise<unknown> {
    return new Promise((done) => this.server.close(done));
  }
}

/** Sends a message in CopilotKit's chat. */
export async function say(page: Page, text: string): Promise<void> {
  await page.locator("textarea").fill(text);
  await page.locator("textarea").press("Enter");
}

/** How often a text is in another one. */
export const times = (all: string, text: string): number => all.replace(/\s+/g, " ").split(text).length - 1;

/** How often a text is on the page. */
export const count = (page: Page, text: string): Promise<number> => page.locator("body").innerText().then((all) => times(all, text));

export const words = (n: number): string => Array.from({ length: n }, (_, i) => `w${i + 1}`).join(" ");

/** The errors of a page whose connection is lost: its client library rejects a promise without a reason. */
export const lostConnection = [/^error: $/, /^console: .*(CopilotKit|Failed to fetch|network error)/i];
