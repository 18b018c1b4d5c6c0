// Splits a text that is shown without formatting into pieces that the browser lays out quickly. Pure.

/** The maximum length and number of lines of a piece. */
const maxLength = 4000;
const maxLines = 100;

/** The pieces of a text, without the empty lines around it. A piece ends with a line, or inside a very long line. */
export function piecesOf(text: string): string[] {
  const whole = text.replace(/^\n+/, "").trimEnd();
  if (whole === "") return [""];
  const pieces: string[] = [];
  for (let at = 0; at < whole.length; ) {
    const end = endOfPiece(whole, at);
    pieces.push(whole.slice(at, end).replace(/\n$/, ""));
    at = end;
  }
  return pieces;
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
