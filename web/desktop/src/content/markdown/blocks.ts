// Takes a text apart into blocks, so that a text that grows is read anew only at its end. Pure.

import { Lexer, Marked, type Token, type Tokens } from "marked";

export interface Block {
  /** Where it begins in the text, which also names it. */
  readonly at: number;
  readonly raw: string;
  /** For a code block: what is in it, and in which language. */
  readonly code?: { readonly lang: string; readonly text: string };
}

export interface Split {
  readonly text: string;
  readonly blocks: readonly Block[];
  /** The addresses that texts name and give elsewhere. */
  readonly links: Links;
}

export type Links = Readonly<Record<string, { href: string; title: string }>>;

const noLinks: Links = {};

/** How many blocks at the end are read anew: what comes may belong to the last ones. */
const unsure = 2;

const marked = new Marked({
  gfm: true,
  breaks: true,
  renderer: {
    // Attributes that would say more are not let through; dress.ts knows these and takes them away.
    code: ({ text, lang }) => `<pre lang="${escape(languageOf(lang))}"><code>${escape(text)}\n</code></pre>\n`,
    checkbox: ({ checked }) => `<data value="${checked ? "done" : "open"}"></data> `,
  },
});

/** Reads a text. What was read of it before, when it was shorter, is kept. */
export function split(text: string, before?: Split): Split {
  const grown = before !== undefined && text.startsWith(before.text);
  const kept = grown ? before.blocks.slice(0, -unsure) : [];
  const from = kept.length === 0 ? 0 : before!.blocks[kept.length]!.at;
  const tokens = new Lexer(marked.defaults).lex(text.slice(from));
  const links = merge(grown ? before.links : noLinks, tokens.links as Links);
  return { text, blocks: [...kept, ...blocksOf(tokens, from)], links };
}

/** The same object as long as nothing is new, so that what was drawn with it stays. */
function merge(old: Links, more: Links): Links {
  const isNew = Object.entries(more).some(([name, link]) => old[name]?.href !== link.href || old[name]?.title !== link.title);
  return isNew ? { ...old, ...more } : old;
}

function blocksOf(tokens: readonly Token[], from: number): Block[] {
  const blocks: Block[] = [];
  let at = from;
  let open = 0;
  for (const token of tokens) {
    const last = blocks.at(-1);
    if (open > 0 && last !== undefined) {
      // An element that is not closed goes on through what follows.
      blocks[blocks.length - 1] = { at: last.at, raw: last.raw + token.raw };
    } else if (token.type === "code") {
      const { lang, text } = token as Tokens.Code;
      blocks.push({ at, raw: token.raw, code: { lang: languageOf(lang), text } });
    } else if (token.type !== "space" && token.type !== "def") {
      blocks.push({ at, raw: token.raw });
    }
    if (token.type === "html") open = Math.max(0, open + openings(token.raw));
    at += token.raw.length;
  }
  return blocks;
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

/** A block as HTML that is not to be trusted. */
export function htmlOf(raw: string, links: Links): string {
  const lexer = new Lexer(marked.defaults);
  Object.assign(lexer.tokens.links, links);
  return marked.parser(lexer.lex(raw));
}

function languageOf(info: string | undefined): string {
  return /^[\w+#.-]{1,30}/.exec(info ?? "")?.[0] ?? "";
}

function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
