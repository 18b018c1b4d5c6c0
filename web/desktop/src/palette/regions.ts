// F6 walks through the parts of the page.

const focusable = "button:not(:disabled), [href], input:not(:disabled), select:not(:disabled), textarea:not(:disabled), [tabindex]:not([tabindex='-1'])";

/** Moves the focus to the next part of the page, or the one before. A question in front is one of them. */
export function cycleRegion(by: 1 | -1): void {
  const regions = [...document.querySelectorAll<HTMLElement>("[data-region]")].filter((r) => r.checkVisibility());
  if (regions.length === 0) return;
  const here = regions.findIndex((r) => r.contains(document.activeElement));
  const to = here < 0 ? (by === 1 ? 0 : regions.length - 1) : (here + by + regions.length) % regions.length;
  enter(regions[to]!);
}

/** A place to type comes first, then what there is to read; a question is entered without touching any of its answers. */
function enter(region: HTMLElement): void {
  const inside = region.dataset.region === "ask" ? region.querySelector<HTMLElement>("[tabindex='-1']") : undefined;
  const to = inside ?? region.querySelector<HTMLElement>("[data-command-bar], [role=log]") ?? visibleIn(region) ?? region;
  to.focus();
}

function visibleIn(region: HTMLElement): HTMLElement | undefined {
  return [...region.querySelectorAll<HTMLElement>(focusable)].find((el) => el.checkVisibility());
}
