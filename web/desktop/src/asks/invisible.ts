// Makes visible what could hide a part of a question.

/**
 * Characters that change the text direction, that are invisible, or that look like a space and are none. Variation
 * selectors and joiners within emoji are allowed.
 */
const invisibleCharacters =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\u2800]|(?! )\p{Zs}|(?<!\p{Extended_Pictographic})\ufe0f|(?<![\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f])\u200d|(?![\ufe0f\u200d])\p{Default_Ignorable_Code_Point}/gu;

/** Runs of empty lines or spaces that make a text look as if it ended there. */
const longGaps = /\n(?:[ \t]*\n){3,}| {24,}/g;

/**
 * Replaces invisible characters by their code points, and long gaps by their length. Otherwise they could make an
 * argument look like another one, or push a part of it out of view.
 */
export function escapeInvisible(text: string): string {
  return text
    .replace(invisibleCharacters, (sign) => (sign === "\r" ? "" : `[U+${sign.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}]`))
    .replace(longGaps, (gap) => (gap.startsWith("\n") ? `\n[↵ ×${gap.split("\n").length - 2}]\n` : ` [␣ ×${gap.length}] `));
}
