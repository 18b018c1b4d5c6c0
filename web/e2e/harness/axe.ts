// What axe finds that would keep somebody from using a page.

import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import type { AxeResults } from "axe-core";
import type { Page } from "playwright-core";

const axe = readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** The rules that compare colours. They are most of the work of axe. */
const colourRules = ["color-contrast", "link-in-text-block"];

/** The violations in a page. Colours are the same in all languages, so that a test of another language can leave them out. */
export async function troubles(page: Page, colours = true): Promise<string[]> {
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(await axe);
  const found = await page.evaluate(async (off) => {
    const { axe } = globalThis as unknown as { axe: { run: (options: object) => Promise<AxeResults> } };
    const rules = Object.fromEntries(off.map((rule) => [rule, { enabled: false }]));
    return axe.run({ resultTypes: ["violations"], iframes: false, runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"], rules });
  }, colours ? [] : colourRules);
  return found.violations
    .filter((v) => v.impact === "serious" || v.impact === "critical")
    .flatMap((v) => v.nodes.map((n) => `${v.id}: ${n.target.join(" ")} ${n.failureSummary?.replaceAll("\n", " ")}`));
}
