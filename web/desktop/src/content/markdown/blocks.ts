// Splits a text into blocks, so that only the end of a growing text is parsed again. Pure.

import { Marked, type Token, type Tokens } from "marked";
import { BoundedLexer, WorkBudget } from "./bounded-lexer.js";
import { sectionsOf } from "./sections.js";

export interface Block {
  /** Its offset in the text, which is also its key. */
  readonly at: number;
  readonly raw: string;
  /** The text and the language of a code block. */
  readonly code?: { readonly lang: string; readonly text: string };
  /** Whether it is shown without formatting, because parsing it would take too long. */
  readonly plain?: true;
}

export interface Split {
  /** The source with uniform line ends. */
  readonly text: string;
  readonly blocks: readonly Block[];
  /** The link reference definitions of the text. */
  readonly links: Links;
  /** The work of this call. */
  readonly work: number;
}

interface Link {
  href: string;
  title?: string | null;
}

export type Links = Readonly<Record<string, Link>>;

const noLinks: Links = {};

/** The number of blocks at the end that are parsed again, because new text may belong to them. */
const reparsedBlocks = 2;
/** The number of blocks, or sections, after which the rest is shown without formatting. */
export const maxBlocks = 1500;
/** The maximum work to find blocks: in one section, and in a text. */
export const maxSectionWork = 2_000_000;
export const maxSplitWork = 6_000_000;
/** The maximum work to format a block, and the maximum length and number of tags of its HTML. */
export const maxBlockWork = 3_000_000;
const maxHtml = 512 << 10;
const maxTags = 6000;
/** The length up to which an unclosed element continues into the next blocks. */
const maxOpen = 16 << 10;
/** The maximum number of link definitions and their maximum length: every block may use all of them. */
const maxLinks = 200;
const maxLink = 2000;

const marked = new Marked({
  gfm: true,
  breaks: true,
  renderer: {
    // clean.ts removes other attributes; decorate.ts reads these and replaces the elements.
    code: ({ text, lang }) => `<pre lang="${escapeHTML(languageOf(lang))}"><code>${escapeHTML(text)}\n</code></pre>\n`,
    checkbox: ({ checked }) => `<data value="${checked ? "done" : "open"}"></data> `,
  },
});

/** Splits a text into blocks. It reuses the blocks of an earlier, shorter version of the text. */
export function split(source: string, before?: Split): Split {
  const text = source.replace(/\r\n?/g, "\n");
  const grown = before !== undefined && text.startsWith(before.text);
  const kept = grown ? before.blocks.slice(0, -reparsedBlocks) : [];
  const from = kept.length === 0 ? 0 : before!.blocks[kept.length]!.at;
  const blocks = new Blocks(kept);
  const links = new Map<string, Link>();
  let work = 0;
  for (const [i, { at, end, kind }] of sectionsOf(text, from).entries()) {
    if (kind === "rest" || Math.max(kept.length + i, blocks.list.length) >= maxBlocks) {
      blocks.list.push({ at, raw: text.slice(at), plain: true });
      break;
    }
    const raw = text.slice(at, end);
    const fenced = kind === "fenced";
    const budget = new WorkBudget(fenced ? Infinity : Math.min(maxSectionWork, maxSplitWork - work));
    const lexer = new BoundedLexer(marked.defaults, budget);
    try {
      blocks.add(lexer.blocks(raw), at);
      for (const [name, link] of Object.entries(lexer.tokens.links)) if (!links.has(name)) links.set(name, link); // the first definition applies
    } catch {
      blocks.addPlain(raw, at);
    }
    if (!fenced) work += Math.min(budget.done, maxSectionWork);
  }
  return { text, blocks: blocks.list, links: mergeLinks(grown ? before.links : noLinks, links), work };
}

/** Adds link definitions. Returns the same object if none is new, so that rendered blocks stay valid. */
function mergeLinks(old: Links, more: ReadonlyMap<string, Link>): Links {
  let room = maxLinks - Object.keys(old).length;
  const fresh = [...more].filter(([name, { href, title }]) => {
    if (name.length + href.length + (title?.length ?? 0) > maxLink) return false;
    return Object.hasOwn(old, name) ? old[name]!.href !== href || old[name]!.title !== title : room-- > 0;
  });
  return fresh.length === 0 ? old : { ...old, ...Object.fromEntries(fresh) };
}

/** Collects the blocks of a text. */
class Blocks {
  readonly list: Block[];
  private open = 0;

  constructor(kept: readonly Block[]) {
    this.list = [...kept];
  }

  add(tokens: readonly Token[], from: number): void {
    let at = from;
    for (const token of tokens) {
      const last = this.list.at(-1);
      if (last === undefined || last.raw.length > maxOpen) this.open = 0;
      if (this.open > 0 && last !== undefined) {
        // An unclosed element continues through the next blocks.
        this.list[this.list.length - 1] = { at: last.at, raw: last.raw + token.raw };
      } else if (token.type === "code") {
        const { lang, text } = token as Tokens.Code;
        this.list.push({ at, raw: token.raw, code: { lang: languageOf(lang), text } });
      } else if (token.type !== "space" && token.type !== "def") {
        this.list.push({ at, raw: token.raw });
      }
      if (token.type === "html") this.open = Math.max(0, this.open + countUnclosed(token.raw));
      at += token.raw.length;
    }
  }

  addPlain(raw: string, at: number): void {
    this.open = 0;
    this.list.push({ at, raw, plain: true });
  }
}

const voidElements = new Set(["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"]);

/** The number of elements that a piece of HTML leaves open. */
export function countUnclosed(html: string): number {
  let open = 0;
  for (const [, close, name, self] of html.matchAll(/<(\/?)([a-z][a-z0-9-]*)(?=[\s/>])[^<>]*?(\/?)>/gi)) {
    if (self !== "/" && !voidElements.has(name!.toLowerCase())) open += close === "/" ? -1 : 1;
  }
  return open;
}

/** The untrusted HTML of a block; undefined if parsing or showing it would take too long. */
export function htmlOf(raw: string, links: Links, work = new WorkBudget(maxBlockWork)): string | undefined {
  const lexer = new BoundedLexer(marked.defaults, work);
  lexer.addLinks(links);
  try {
    const html = marked.parser(lexer.lex(raw));
    return html.length <= maxHtml && countTags(html) <= maxTags ? html : undefined;
  } catch {
    return undefined;
  }
}

function countTags(html: string): number {
  let tags = 0;
  for (let at = html.indexOf("<"); at >= 0; at = html.indexOf("<", at + 1)) tags++;
  return tags;
}

function languageOf(info: string | undefined): string {
  return /^[\w+#.-]{1,30}/.exec(info ?? "")?.[0] ?? "";
}

function escapeHTML(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
