// The rules of the launcher that need no browser.

/** An app of the market as the hub lists it. */
export interface MarketApp {
  readonly id: string;
  readonly name: string;
  readonly description?: string;
  readonly installed: boolean;
  /** An emoji, or the path of a picture. */
  readonly icon?: string;
  readonly iconType?: string;
}

/** The entries whose name or description has every word of a text; those that begin with it are first. */
export function matching<T extends { id: string; name: string; description?: string }>(all: readonly T[], text: string): T[] {
  const words = text.normalize("NFC").toLowerCase().split(/\s+/).filter((w) => w !== "");
  const score = (e: T): number => {
    const name = e.name.toLowerCase();
    const whole = `${name} ${e.id} ${e.description ?? ""}`.toLowerCase();
    if (!words.every((w) => whole.includes(w))) return -1;
    return words[0] === undefined || name.startsWith(words[0]) ? 2 : 1;
  };
  return all
    .map((e) => [e, score(e)] as const)
    .filter(([, s]) => s > 0)
    .sort((a, b) => b[1] - a[1])
    .map(([e]) => e);
}

/** The most pinned apps that fit beside the command bar. */
export const maxPins = 6;

/** The pinned apps after one was pinned or unpinned. The oldest one makes room. */
export function withPin(pinned: readonly string[], id: string): string[] {
  return pinned.includes(id) ? pinned.filter((p) => p !== id) : [...pinned, id].slice(-maxPins);
}
