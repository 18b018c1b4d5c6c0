// Splits a text that is shown without formatting into pieces that the browser lays out quickly. Pure.

/** The maximum length and number of lines of a piece. */
const maxLength = 4000;
const maxLines = 100;

export interface Pieces {
  readonly text: string;
  /** The pieces; together they are the text. */
  readonly list: readonly string[];
}

/**
 * The pieces of a text. A piece ends with a line, or inside a very long line. If the text continues an earlier one, all
 * pieces of that but the last stay the same.
 */
export function piecesOf(text: string, before?: Pieces): Pieces {
  if (before !== undefined && !text.startsWith(before.text)) before = undefined;
  const list = before === undefined ? [] : before.list.slice(0, -1);
  let at = before === undefined ? 0 : before.text.length - (before.list.at(-1)?.length ?? 0);
  while (at < text.length) {
    const end = endOfPiece(text, at);
    list.push(text.slice(at, end));
    at = end;
  }
  return { text, list };
}

/** A text without the empty lines around it. */
export function withoutEmptyLines(text: string): string {
  return text.replace(/^\n+/, "").trimEnd();
}

function endOfPiece(text: string, at: number): number {
  let end = at;
  for (let lines = 0; lines < maxLines && end < text.length; lines++) {
    const newline = text.indexOf("\n", end);
    const next = newline < 0 ? text.length : newline + 1;
    if (next - at > maxLength) break;
    end = next;
  }
  if (end > at) return end;
  // Surrogate pairs are not split.
  return at + maxLength - (/[\uD800-\uDBFF]/.test(text[at + maxLength - 1]!) ? 1 : 0);
}
