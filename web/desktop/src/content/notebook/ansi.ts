// Text of terminals: colours of ANSI escape sequences, and carriage returns that overwrite lines.

export interface Span {
  readonly text: string;
  /** Colours 0 to 15; undefined for the default. */
  readonly fg?: number;
  readonly bg?: number;
  readonly bold?: true;
}

type Style = Omit<Span, "text">;

const esc = "\u001b";
// Sequences of all kinds; only those of colours (m) have an effect.
const sequences = new RegExp(`${esc}(?:\\[([0-9;?]*)([ -/]*[@-~])|\\][^\\u0007${esc}]*(?:\\u0007|${esc}\\\\)|[@-Z\\\\-_])`, "g");

/** The text after carriage returns: what follows one overwrites the line from its beginning. */
export function overwrite(text: string): string {
  if (!text.includes("\r")) return text;
  return text
    .replaceAll(/\r+\n/g, "\n")
    .split("\n")
    .map((line) => line.split("\r").reduce((shown, part) => part + shown.slice(part.length), ""))
    .join("\n");
}

/** The colour that the arguments of a 38 or 48 choose, as one of 16, and how many of them it uses. */
function extended(codes: readonly number[], i: number): [number | undefined, number] {
  if (codes[i + 1] === 5) {
    const c = codes[i + 2] ?? 0;
    return [c < 16 ? c : undefined, 2];
  }
  return [undefined, codes[i + 1] === 2 ? 4 : 0];
}

function styled(before: Style, codes: readonly number[]): Style {
  let { fg, bg, bold } = before;
  for (let i = 0; i < codes.length; i++) {
    const c = codes[i]!;
    if (c === 0) [fg, bg, bold] = [undefined, undefined, undefined];
    else if (c === 1) bold = true;
    else if (c === 22) bold = undefined;
    else if (c >= 30 && c <= 37) fg = c - 30;
    else if (c >= 90 && c <= 97) fg = c - 82;
    else if (c === 39) fg = undefined;
    else if (c >= 40 && c <= 47) bg = c - 40;
    else if (c >= 100 && c <= 107) bg = c - 92;
    else if (c === 49) bg = undefined;
    else if (c === 38 || c === 48) {
      const [colour, used] = extended(codes, i);
      if (c === 38) fg = colour;
      else bg = colour;
      i += used;
    }
  }
  return { ...(fg === undefined ? {} : { fg }), ...(bg === undefined ? {} : { bg }), ...(bold === undefined ? {} : { bold }) };
}

/** The parts of a text that have the same colours. Other escape sequences are removed. */
export function spans(text: string): Span[] {
  const out: Span[] = [];
  let style: Style = {};
  let from = 0;
  const add = (to: number): void => {
    if (to > from) out.push({ text: text.slice(from, to), ...style });
  };
  for (const m of text.matchAll(sequences)) {
    add(m.index);
    from = m.index + m[0].length;
    if (m[2] === "m") style = styled(style, (m[1] || "0").split(";").map(Number));
  }
  add(text.length);
  return out;
}
