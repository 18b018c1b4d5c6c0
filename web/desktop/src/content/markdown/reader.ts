// Reads Markdown with a limit on the work. The parser is quick for what people and agents write, but there are texts for
// which its time grows with the square of their length, or worse. Those are given up, and shown as they are. What is
// counted is work and not time, so that a text always looks the same.

import { Lexer, type Links, type MarkedOptions, type Token, Tokenizer, type Tokens, type TokensList } from "marked";

/** How much may still be done. A step costs as much as it can look at, and something for what it makes. */
export class Work {
  /** All that was asked for so far. */
  done = 0;
  private readonly limit: number;

  constructor(limit: number) {
    this.limit = limit;
  }

  spend(n: number): void {
    this.done += n;
    if (this.done > this.limit) throw new TooMuch();
  }
}

export class TooMuch extends Error {}

/** What a step costs, however little it looks at. */
const stepCost = 400;
/** How deep lists and quotes, and how deep emphasis and links may go. */
const maxDepth = 16;
const maxInlineDepth = 24;
/** How many cells a table may have, with those that its rows leave out. */
const maxCells = 3000;
/** How many lines a list or a quote may have, and how long it may be. */
const maxLines = 2000;
const maxNested = 64 << 10;
/** How many equal signs may follow each other. */
const maxRun = 100;
/** The characters with a meaning, times the length of the text that the parser may look through for each. */
const maxProduct = 1 << 23;

/** Whether the parser can be trusted with the text of a paragraph, a cell or an item. */
function isHarmless(src: string): boolean {
  let signs = 1;
  let run = 0;
  let last = 0;
  for (let i = 0; i < src.length; i++) {
    const c = src.charCodeAt(i);
    if (isSign(c)) signs += c === tilde ? 4 : 1; // what it may cross out is looked for longest
    run = c === last ? run + 1 : 1;
    last = c;
    if (run > maxRun && !isLetter(c)) return false;
  }
  return signs * src.length <= maxProduct;
}

function isLetter(c: number): boolean {
  return (c >= 0x30 && c <= 0x39) || (c >= 0x41 && c <= 0x5a) || (c >= 0x61 && c <= 0x7a) || c > 0x7f;
}

const tilde = 0x7e;

function isSign(c: number): boolean {
  switch (c) {
    case 0x21: // !
    case 0x22: // "
    case 0x26: // &
    case 0x27: // '
    case 0x28: // (
    case 0x2a: // *
    case 0x3c: // <
    case 0x3e: // >
    case 0x40: // @
    case 0x5b: // [
    case 0x5c: // \
    case 0x5d: // ]
    case 0x5f: // _
    case 0x60: // `
    case tilde:
      return true;
    default:
      return false;
  }
}

/** Counts the steps: the first two methods are asked first for every piece of a text. */
class CountingTokenizer extends Tokenizer {
  private readonly work: Work;

  constructor(work: Work) {
    super();
    this.work = work;
  }

  override space(src: string): Tokens.Space | undefined {
    this.work.spend(stepCost + src.length);
    return super.space(src);
  }

  override escape(src: string): Tokens.Escape | undefined {
    this.work.spend(stepCost + src.length);
    return super.escape(src);
  }

  override list(src: string): Tokens.List | undefined {
    if (this.rules.block.list.test(src)) this.limitNested(src);
    return super.list(src);
  }

  override blockquote(src: string): Tokens.Blockquote | undefined {
    if (this.rules.other.blockquoteStart.test(src)) this.limitNested(src);
    return super.blockquote(src);
  }

  private limitNested(src: string): void {
    if (src.length > maxNested) throw new TooMuch();
    let lines = 0;
    for (let at = src.indexOf("\n"); at >= 0; at = src.indexOf("\n", at + 1)) if (++lines > maxLines) throw new TooMuch();
  }

  /** A row gets all the columns of the head, so that a short text can be a very large table. */
  override table(src: string): Tokens.Table | undefined {
    const head = src.indexOf("\n");
    if (head < 0 || !/^ {0,3}[-:|]/.test(src.slice(head + 1, head + 5))) return undefined;
    const columns = src.slice(0, head).split("|").length;
    for (let cells = 0, at = head; at >= 0 && src[at + 1] !== "\n"; at = src.indexOf("\n", at + 1)) {
      cells += columns;
      if (cells > maxCells) throw new TooMuch();
    }
    return super.table(src);
  }
}

export class BoundedLexer extends Lexer {
  private depth = 0;
  private inlineDepth = 0;

  constructor(options: MarkedOptions, work: Work) {
    super({ ...options, tokenizer: new CountingTokenizer(work) });
  }

  override blockTokens(src: string, tokens?: Token[], clipped?: boolean): Token[];
  override blockTokens(src: string, tokens?: TokensList, clipped?: boolean): TokensList;
  override blockTokens(src: string, tokens: Token[] = [], clipped = false): Token[] {
    if (++this.depth > maxDepth) throw new TooMuch();
    const read = super.blockTokens(src, tokens, clipped);
    this.depth--;
    return read;
  }

  override inlineTokens(src: string, tokens: Token[] = []): Token[] {
    if (++this.inlineDepth > maxInlineDepth) throw new TooMuch();
    if (this.inlineDepth === 1 && !isHarmless(src)) throw new TooMuch();
    const read = super.inlineTokens(src, tokens);
    this.inlineDepth--;
    return read;
  }

  /** Only which blocks there are; what is in them is not read. */
  blocks(src: string): TokensList {
    this.blockTokens(src, this.tokens);
    return this.tokens;
  }

  know(links: Links): void {
    Object.assign(this.tokens.links, links);
  }
}
