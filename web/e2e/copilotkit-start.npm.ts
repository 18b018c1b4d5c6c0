// The page that the first steps of docs/PROTOCOLS.md start; COPILOTKIT_START is its address. See scripts/first-page.sh.

import { expect, it } from "vitest";
import { openBrowser } from "./harness/browser.js";
import { count, say } from "./harness/copilotkit.js";
import { until } from "./harness/desktop-page.js";
import { waitLimit } from "./harness/limits.js";

it("the page of the first steps sends a message and shows the answer", async () => {
  const address = process.env.COPILOTKIT_START ?? "";
  expect(address, "the address that the first steps print").toMatch(/thread=first-steps#token=./);
  const context = await (await openBrowser()).newContext();
  try {
    context.setDefaultTimeout(waitLimit);
    const page = await context.newPage();
    await page.goto(address);
    await page.locator("textarea").waitFor();
    await page.waitForLoadState("networkidle"); // Vite loads the page again when it has found its packages
    await say(page, "/say Hello from CopilotKit.");
    await until(() => count(page, "Hello from CopilotKit.")).toBe(2);
  } finally {
    await context.close();
  }
});
