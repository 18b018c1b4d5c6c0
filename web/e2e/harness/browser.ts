// The browser of a worker, which runs many test files. Every test has its own contexts in it.

import { existsSync } from "node:fs";
import { type Browser, chromium } from "playwright-core";
import { inject } from "vitest";

declare module "vitest" {
  export interface ProvidedContext {
    /** Whether to prefer the full browser to its headless shell. */
    fullBrowser: boolean;
  }
}

const full = "/usr/bin/chromium";
/** The same engine without windows, which needs three quarters of the CPU time. Not every distribution has it. */
const shell = "/usr/bin/chromium-headless-shell";

let launched: Promise<Browser> | undefined;

/** The browser of this worker; a new one if it has crashed. It ends with the worker. */
export async function openBrowser(): Promise<Browser> {
  const running = await launched?.catch(() => undefined);
  if (running?.isConnected() !== true) launched = launch();
  return launched!;
}

function launch(): Promise<Browser> {
  const asRoot = process.getuid?.() === 0;
  const preferred = inject("fullBrowser") ? [full, shell] : [shell, full];
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? preferred.find((path) => existsSync(path)) ?? full,
    args: [...(asRoot ? ["--no-sandbox"] : []), "--disable-dev-shm-usage", "--force-color-profile=srgb"],
  });
}
