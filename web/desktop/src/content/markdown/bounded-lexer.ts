// Parses Markdown with a limit on the work. The parser is fast for ordinary texts, but for some its time grows with the
// square of their length or faster. Those are shown without formatting. The limit counts work and not time, so that a
// text always looks the same.

import { Lexer, type Links, type MarkedOptions, type Token, Tokenizer, type Tokens, type TokensList } from "marked";

/** A budget of work. Each step costs as much as it may scan, plus a fixed amount for its result. */
export class WorkBudget {
  /** The work spent so far, including the step that exceeded the limit. */
  done = 0;
  private readonly limit: number;

  constructor(limit: number) {
    this.limit = limit;
  }

  spend(n: number): void {
    this.done += n;
    if (this.done > this.limit) throw new WorkLimitError();
  }
}

export class WorkLimitError extends Error {}

/** The fixed cost of a step. */
const stepCost = 400;
/** The maximum nesting of lists and quotes, and of emphasis and links. */
const maxDepth = 16;
const maxInlineDepth = 24;
/** The maximum number of cells of a table, including those missing in short rows. */
const maxCells = 3000;
/** The maximum number of lines of a list or quote, and its maximum length. */
const maxLines = 2000;
const maxNested = 64 << 10;
/** The maximum number of equal punctuation characters in a row. */
const maxRun = 100;
/**
 * The limit for the number of special characters times the length of the text, which the parser may scan for each of
 * them.
 */
const maxProduct = 1 << 23;

/** Whether the parser needs bounded time for the text of a paragraph, a cell or an item. */
function isBounded(src: string): boolean {
  let specials = 1;
  let run = 0;
  let last = 0;
  for (let i = 0; i < src.length; i++) {
    const c = src.charCodeAt(i);
    if (isSpecial(c)) specials += c === tilde ? 4 : 1; // the parser scans farthest for strikethrough
    run = c === last ? run + 1 : 1;
    last = c;
    if (run > maxRun && !isLetter(c)) return false;
  }
  return specials * src.length <= maxProduct;
}

function isLetter(c: number): boolean {
  return (c >= 0x30 && c <= 0x39) || (c >= 0x41 && c <= 0x5a) || (c >= 0x61 && c <= 0x7a) || c > 0x7f;
}

const tilde = 0x7e;

function isSpecial(c: number): boolean {
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

/** Counts the steps of the parser, which calls space or escape first at every position. */
class CountingTokenizer extends Tokenizer {
  private readonly work: WorkBudget;

  constructor(work: WorkBudget) {
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
    if (src.length > maxNested) throw new WorkLimitError();
    let lines = 0;
    for (let at = src.indexOf("\n"); at >= 0; at = src.indexOf("\n", at + 1)) if (++lines > maxLines) throw new WorkLimitError();
  }

  /** Every row gets all columns of the header, so that a short text can be a very large table. */
  override table(src: string): Tokens.Table | undefined {
    const head = src.indexOf("\n");
    if (head < 0 || !/^ {0,3}[-:|]/.test(src.slice(head + 1, head + 5))) return undefined;
    const columns = src.slice(0, head).split("|").length;
    for (let cells = 0, at = head; at >= 0 && src[at + 1] !== "\n"; at = src.indexOf("\n", at + 1)) {
      cells += columns;
      if (cells > maxCells) throw new WorkLimitError();
    }
    return super.table(src);
  }
}

export class BoundedLexer extends Lexer {
  private depth = 0;
  private inlineDepth = 0;

  constructor(options: MarkedOptions, work: WorkBudget) {
    super({ ...options, tokenizer: new CountingTokenizer(work) });
  }

  override blockTokens(src: string, tokens?: Token[], clipped?: boolean): Token[];
  override blockTokens(src: string, tokens?: TokensList, clipped?: boolean): TokensList;
  override blockTokens(src: string, tokens: Token[] = [], clipped = false): Token[] {
    if (++this.depth > maxDepth) throw new WorkLimitError();
    const read = super.blockTokens(src, tokens, clipped);
    this.depth--;
    return read;
  }

  override inlineTokens(src: string, tokens: Token[] = []): Token[] {
    if (++this.inlineDepth > maxInlineDepth) throw new WorkLimitError();
    if (this.inlineDepth === 1 && !isBounded(src)) throw new WorkLimitError();
    const read = super.inlineTokens(src, tokens);
    this.inlineDepth--;
    return read;
  }

  /** Finds the blocks without parsing their contents. */
  blocks(src: string): TokensList {
    this.blockTokens(src, this.tokens);
    return this.tokens;
  }

  addLinks(links: Links): void {
    Object.assign(this.tokens.links, links);
  }
}
