// The languages of code blocks that have colours.

export type CodeLanguage = "css" | "html" | "javascript" | "json" | "python" | "typescript";

/** A part of a code with its class; empty for none. */
export interface CodePiece {
  readonly text: string;
  readonly name: string;
}

const names: Readonly<Record<string, CodeLanguage>> = {
  css: "css",
  html: "html",
  xml: "html",
  svg: "html",
  js: "javascript",
  jsx: "javascript",
  javascript: "javascript",
  json: "json",
  py: "python",
  python: "python",
  ts: "typescript",
  tsx: "typescript",
  typescript: "typescript",
};

/** The language that a code block names; undefined if it has no colours. */
export function codeLanguage(name: string): CodeLanguage | undefined {
  return names[name.trim().toLowerCase()];
}
