// Splits a text where a block certainly ends, in one pass over its lines. A missing split is harmless, since the parser
// finds the blocks of a section, so doubtful lines stay together. Pure.

import { Lexer } from "marked";

export interface Section {
  readonly at: number;
  readonly end: number;
  /** "fenced" is exactly one fenced code block; "rest" is the remainder of a text with too many lines. */
  readonly kind: "usual" | "fenced" | "rest";
}

interface Fence {
  readonly sign: string;
  readonly size: number;
  readonly outermost: boolean;
}

const marker = /^[ \t]*(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)/;
const heading = /^#{1,6}(?:[ \t]|$)/;
const fenceStart = /^ {0,3}(?:(`{3,})[^`]*|(~{3,}).*)$/;
/** In a list, a fence may be indented or follow the marker of its item. */
const listFenceStart = /^[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(?:(`{3,})[^`]*|(~{3,}).*)$/;
const fenceEnd = /^[ \t]*(`{3,}|~{3,})[ \t]*$/;
const rawHtml: readonly (readonly [RegExp, string])[] = [
  [/^ {0,3}<script[\s>]/i, "</script>"],
  [/^ {0,3}<pre[\s>]/i, "</pre>"],
  [/^ {0,3}<style[\s>]/i, "</style>"],
  [/^ {0,3}<textarea[\s>]/i, "</textarea>"],
  [/^ {0,3}<!--/, "-->"],
  [/^ {0,3}<\?/, "?>"],
  [/^ {0,3}<!\[CDATA\[/, "]]>"],
  [/^ {0,3}<![a-z]/i, ">"],
];
/** The length up to which a line is examined. */
const maxLineLength = 1000;
/** The maximum number of lines examined outside of fences. */
const maxLines = 20_000;

export function sectionsOf(text: string, from = 0): Section[] {
  const sections: Section[] = [];
  let start = from;
  let blank = false;
  let list = false;
  let html = false;
  let fence: Fence | undefined;
  let rawEnd: string | undefined;
  let lines = 0;

  const cut = (at: number, kind: Section["kind"] = "usual"): void => {
    if (at > start) sections.push({ at: start, end: at, kind });
    start = at;
    blank = list = html = false;
  };
  for (let at = from, next = from; at < text.length; at = next) {
    const newline = text.indexOf("\n", at);
    const end = newline < 0 ? text.length : newline;
    next = newline < 0 ? end : newline + 1;
    const line = text.slice(at, Math.min(end, at + maxLineLength));
    if (fence !== undefined) {
      if (end - at > maxLineLength || !closes(line, fence)) continue;
      if (fence.outermost) cut(next, "fenced");
      fence = undefined;
      continue;
    }
    if (++lines > maxLines) break;
    if (rawEnd !== undefined) {
      if (text.slice(at, end).toLowerCase().includes(rawEnd)) rawEnd = undefined;
      continue;
    }
    if (line.trim() === "") {
      blank = true;
      html = false;
      continue;
    }
    const flush = line[0] !== " " && line[0] !== "\t";
    const item = marker.test(line);
    if (blank && flush && !(item && list)) cut(at);
    if (!html && heading.test(line)) {
      cut(at);
      cut(next);
      continue;
    }
    blank = false;
    list ||= item;
    const opened = html ? null : (list ? listFenceStart : fenceStart).exec(line);
    if (opened !== null) {
      const signs = opened[1] ?? opened[2]!;
      if (flush && !item) cut(at);
      fence = { sign: signs[0]!, size: signs.length, outermost: flush && !item };
    } else if (/^ {0,3}</.test(line)) {
      html ||= Lexer.rules.block.gfm.html.test(line);
      rawEnd = rawHtml.find(([begin]) => begin.test(line))?.[1];
      if (rawEnd !== undefined && text.slice(at, end).toLowerCase().includes(rawEnd)) rawEnd = undefined;
    }
  }
  cut(text.length, fence?.outermost === true ? "fenced" : lines > maxLines ? "rest" : "usual");
  return sections;
}

function closes(line: string, fence: Fence): boolean {
  const signs = fenceEnd.exec(line)?.[1];
  return signs !== undefined && signs[0] === fence.sign && signs.length >= fence.size && (!fence.outermost || /^ {0,3}\S/.test(line));
}
