// Takes a text apart into blocks, so that a text that grows is read anew only at its end. Pure.

import { Marked, type Token, type Tokens } from "marked";
import { BoundedLexer, Work } from "./reader.js";
import { sectionsOf } from "./sections.js";

export interface Block {
  /** Where it begins in the text, which also names it. */
  readonly at: number;
  readonly raw: string;
  /** For a code block: what is in it, and in which language. */
  readonly code?: { readonly lang: string; readonly text: string };
  /** It is shown as it is: reading it would take too long. */
  readonly plain?: true;
}

export interface Split {
  /** What was read, with line ends of one kind. */
  readonly text: string;
  readonly blocks: readonly Block[];
  /** The addresses that texts name and give elsewhere. */
  readonly links: Links;
  /** How much work it was, this time. */
  readonly work: number;
}

interface Link {
  href: string;
  title?: string | null;
}

export type Links = Readonly<Record<string, Link>>;

const noLinks: Links = {};

/** How many blocks at the end are read anew: what comes may belong to the last ones. */
const unsure = 2;
/** What comes after so many blocks, or sections, is shown as it is. */
export const maxBlocks = 1500;
/** What finding blocks may cost: in one section, and in a text. */
export const maxSectionWork = 2_000_000;
export const maxSplitWork = 6_000_000;
/** What formatting a block may cost, and how long its HTML may be and how many tags it may have. */
export const maxBlockWork = 3_000_000;
const maxHtml = 512 << 10;
const maxTags = 6000;
/** An element that is not closed goes on no further than this. */
const maxOpen = 16 << 10;
/** How many addresses a text may name, and how long each may be: all of them may be used in every block. */
const maxLinks = 200;
const maxLink = 2000;

const marked = new Marked({
  gfm: true,
  breaks: true,
  renderer: {
    // Attributes that would say more are not let through; dress.ts knows these and takes them away.
    code: ({ text, lang }) => `<pre lang="${escapeHTML(languageOf(lang))}"><code>${escapeHTML(text)}\n</code></pre>\n`,
    checkbox: ({ checked }) => `<data value="${checked ? "done" : "open"}"></data> `,
  },
});

/** Reads a text. What was read of it before, when it was shorter, is kept. */
export function split(source: string, before?: Split): Split {
  const text = source.replace(/\r\n?/g, "\n");
  const grown = before !== undefined && text.startsWith(before.text);
  const kept = grown ? before.blocks.slice(0, -unsure) : [];
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
    const budget = new Work(fenced ? Infinity : Math.min(maxSectionWork, maxSplitWork - work));
    const lexer = new BoundedLexer(marked.defaults, budget);
    try {
      blocks.add(lexer.blocks(raw), at);
      for (const [name, link] of Object.entries(lexer.tokens.links)) if (!links.has(name)) links.set(name, link); // the first counts
    } catch {
      blocks.addPlain(raw, at);
    }
    if (!fenced) work += Math.min(budget.done, maxSectionWork);
  }
  return { text, blocks: blocks.list, links: merge(grown ? before.links : noLinks, links), work };
}

/** The same object as long as nothing is new, so that what was drawn with it stays. */
function merge(old: Links, more: ReadonlyMap<string, Link>): Links {
  let room = maxLinks - Object.keys(old).length;
  const fresh = [...more].filter(([name, { href, title }]) => {
    if (name.length + href.length + (title?.length ?? 0) > maxLink) return false;
    return Object.hasOwn(old, name) ? old[name]!.href !== href || old[name]!.title !== title : room-- > 0;
  });
  return fresh.length === 0 ? old : { ...old, ...Object.fromEntries(fresh) };
}

/** Puts blocks together as they are found. */
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
        // An element that is not closed goes on through what follows.
        this.list[this.list.length - 1] = { at: last.at, raw: last.raw + token.raw };
      } else if (token.type === "code") {
        const { lang, text } = token as Tokens.Code;
        this.list.push({ at, raw: token.raw, code: { lang: languageOf(lang), text } });
      } else if (token.type !== "space" && token.type !== "def") {
        this.list.push({ at, raw: token.raw });
      }
      if (token.type === "html") this.open = Math.max(0, this.open + openings(token.raw));
      at += token.raw.length;
    }
  }

  addPlain(raw: string, at: number): void {
    this.open = 0;
    this.list.push({ at, raw, plain: true });
  }
}

const voids = new Set(["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"]);

/** How many elements a piece of HTML opens and leaves open. */
export function openings(html: string): number {
  let open = 0;
  for (const [, close, name, self] of html.matchAll(/<(\/?)([a-z][a-z0-9-]*)(?=[\s/>])[^<>]*?(\/?)>/gi)) {
    if (self !== "/" && !voids.has(name!.toLowerCase())) open += close === "/" ? -1 : 1;
  }
  return open;
}

/** A block as HTML that is not to be trusted; nothing if reading or showing it would take too long. */
export function htmlOf(raw: string, links: Links, work = new Work(maxBlockWork)): string | undefined {
  const lexer = new BoundedLexer(marked.defaults, work);
  lexer.know(links);
  try {
    const html = marked.parser(lexer.lex(raw));
    return html.length <= maxHtml && tagsIn(html) <= maxTags ? html : undefined;
  } catch {
    return undefined;
  }
}

function tagsIn(html: string): number {
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
