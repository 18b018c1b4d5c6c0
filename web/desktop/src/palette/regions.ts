// F6 moves the focus through the regions of the page.

const focusable = "button:not(:disabled), [href], input:not(:disabled), select:not(:disabled), textarea:not(:disabled), [tabindex]:not([tabindex='-1'])";

/** Moves the focus to the next or previous region. A question in front is a region, too. */
export function cycleRegion(by: 1 | -1): void {
  const regions = [...document.querySelectorAll<HTMLElement>("[data-region]")].filter((r) => r.checkVisibility());
  if (regions.length === 0) return;
  const here = regions.findIndex((r) => r.contains(document.activeElement));
  const to = here < 0 ? (by === 1 ? 0 : regions.length - 1) : (here + by + regions.length) % regions.length;
  focusRegion(regions[to]!);
}

/** Focuses a text field first, then readable content; of a question, the text and none of its answers. */
function focusRegion(region: HTMLElement): void {
  const inside = region.dataset.region === "ask" ? region.querySelector<HTMLElement>("[tabindex='-1']") : undefined;
  const to = inside ?? region.querySelector<HTMLElement>("[data-command-bar], [role=log]") ?? firstFocusable(region) ?? region;
  to.focus();
}

function firstFocusable(region: HTMLElement): HTMLElement | undefined {
  return [...region.querySelectorAll<HTMLElement>(focusable)].find((el) => el.checkVisibility());
}
