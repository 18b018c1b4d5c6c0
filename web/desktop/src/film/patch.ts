// The lines of a difference in the format of git, for reading.

export interface PatchLine {
  readonly kind: "added" | "removed" | "place" | "same" | "head";
  readonly text: string;
}

/** The most lines that are shown. */
export const maxLines = 5000;

/** The lines of a patch of one file. The lines before the first place name the file and its versions. */
export function linesOf(patch: string): PatchLine[] {
  let head = true;
  return patch
    .replace(/\n$/, "")
    .split("\n", maxLines)
    .map((text) => {
      if (text.startsWith("@@")) head = false;
      if (head) return { kind: "head", text };
      const kind = ({ "+": "added", "-": "removed", "@": "place" } as const)[text[0] ?? ""];
      return { kind: kind ?? "same", text };
    });
}
