// Finds accessibility violations with axe.

import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import type { AxeResults } from "axe-core";
import type { Frame, Page } from "playwright-core";

const axe = readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** The violations of a page in its theme, and of its colours in the other one of dark and light. */
export async function findViolations(page: Page | Frame): Promise<string[]> {
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(await axe);
  return page.evaluate(async () => {
    const { axe } = globalThis as unknown as { axe: { run: (options: object) => Promise<AxeResults> } };
    const find = async (rules: object): Promise<string[]> => {
      const found = await axe.run({ resultTypes: ["violations"], iframes: false, ...rules });
      return found.violations
        .filter((v) => v.impact === "serious" || v.impact === "critical")
        .flatMap((v) => v.nodes.map((n) => `${v.id}: ${n.target.join(" ")} ${n.failureSummary?.replaceAll("\n", " ")}`));
    };
    const bad = await find({ runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] });
    const root = document.documentElement;
    const { theme } = root.dataset;
    if (theme === undefined) return bad; // the page of an app
    root.dataset.theme = theme === "light" ? "dark" : "light";
    const colours = await find({ runOnly: { type: "rule", values: ["color-contrast"] } });
    const other = root.dataset.theme;
    root.dataset.theme = theme;
    return [...bad, ...colours.map((c) => `${other}: ${c}`)];
  });
}
