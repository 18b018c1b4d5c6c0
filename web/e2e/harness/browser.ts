// The browser of a worker, which runs many files of tests. Every test has contexts of its own in it.

import { existsSync } from "node:fs";
import { type Browser, chromium } from "playwright-core";

/** Where Debian installs browsers. The headless shell is Chromium without windows and needs two thirds of its CPU time. */
const installed = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"];

let launched: Promise<Browser> | undefined;

/** The running browser; a new one if it has crashed. It ends with the process that launched it. */
export async function openBrowser(): Promise<Browser> {
  if (launched === undefined || !(await launched).isConnected()) launched = launch();
  return launched;
}

function launch(): Promise<Browser> {
  const asRoot = process.getuid?.() === 0;
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? installed.find((path) => existsSync(path)) ?? "chromium",
    args: [...(asRoot ? ["--no-sandbox"] : []), "--disable-dev-shm-usage", "--force-color-profile=srgb"],
  });
}
