import { Lexer, Marked } from "marked";
import { describe, expect, test } from "vitest";
import { htmlOf, maxBlocks, maxBlockWork, maxSplitWork, type Split, split } from "../../src/content/markdown/blocks.js";
import { WorkBudget } from "../../src/content/markdown/bounded-lexer.js";
import { piecesOf, withoutEmptyLines } from "../../src/content/markdown/pieces.js";
import { sectionsOf } from "../../src/content/markdown/sections.js";
import { hostile } from "./markdown-hostile.js";

/** How far a step may exceed its limit before it is stopped. */
const slack = (text: string): number => text.length + 1000;

/** Splits a text and formats all of its blocks, counts the work, and checks that no text is missing. */
function check(text: string): { blocks: number; plain: number } {
  const read = split(text);
  expect(read.work).toBeLessThanOrEqual(maxSplitWork + slack(text));
  expect(read.blocks.length).toBeLessThanOrEqual(maxBlocks + 1000);
  let plain = 0;
  let end = 0;
  const wrong: unknown[] = [];
  for (const { at, raw, code, plain: isPlain } of read.blocks) {
    if (at < end || !read.text.startsWith(raw.trimEnd(), at)) wrong.push({ at, end });
    end = at + raw.trimEnd().length;
    if (code !== undefined) continue;
    const work = new WorkBudget(maxBlockWork);
    const html = isPlain ? undefined : htmlOf(raw, read.links, work);
    if (html === undefined) plain++;
    if (work.done > maxBlockWork + slack(text) || (html?.length ?? 0) > 512 << 10) wrong.push({ at, work: work.done });
  }
  expect(wrong).toEqual([]);
  return { blocks: read.blocks.length, plain };
}

describe.each(Object.entries(hostile))("%s", (_, make) => {
  test.each([64 << 10, 256 << 10])("of %i characters take bounded work", (n) => {
    check(make(n));
  });

  test("do not change the rest of a text", () => {
    const text = `# Before\n\n${make(64 << 10)}\n`;
    const { blocks, links } = split(text);
    expect(htmlOf(blocks[0]!.raw, links)).toBe("<h1>Before</h1>\n");
  });

  test("take bounded work while they grow", () => {
    const text = make(64 << 10);
    let before: Split | undefined;
    for (let n = 8000; n < text.length; n += 8000) {
      before = split(text.slice(0, n), before);
      expect(before.work).toBeLessThanOrEqual(maxSplitWork + slack(text));
    }
  });
});

test.each(["underscores", "an address without end", "brackets", "a wide table", "lists in lists", "elements", "spaces"])(
  "%s are shown as they are",
  (name) => {
    const { blocks, plain } = check(hostile[name]!(64 << 10));
    expect([blocks, plain]).toEqual([1, 1]);
  },
);

test("text after an expensive block is formatted", () => {
  const { blocks, links } = split(`${"_".repeat(9000)}a\n\n**bold**\n\n${"[".repeat(9000)}\n\n- *item*\n`);
  expect(blocks.map((b) => htmlOf(b.raw, links) === undefined)).toEqual([true, false, true, false]);
  expect(htmlOf(blocks[1]!.raw, links)).toContain("<strong>");
  expect(htmlOf(blocks[3]!.raw, links)).toContain("<em>");
});

test("any mixture of special characters takes bounded work", () => {
  const signs = ["*", "_", "~", "`", "[", "]", "(", ")", "<", ">", "!", "\\", "@", ".", "a", " ", "\n", "\n\n", "\t", "- ", "1. ", "> ", "# ", "|", "|-"];
  const more = ["<div>", "</b>", "<!--", "```", "[a]: b", '"', "&", "http://", "www.", "가", "😀", "    ", "  \n", "\r\n", "[x] ", "](", "~~~\n", "<a "];
  const all = [...signs, ...more];
  let seed = 7;
  const random = (n: number): number => {
    seed = (seed * 48271) % 2147483647;
    return seed % n;
  };
  const soup = (n: number): string => Array.from({ length: n }, () => all[random(all.length)]!).join("");
  for (let i = 0; i < 60; i++) {
    check(soup(random(4000)));
    const unit = soup(1 + random(5));
    check(soup(random(4)) + unit.repeat((1 << (8 + random(8))) / unit.length) + soup(random(4)));
  }
});

const usual = [
  "# A\ntext\n## B\n- x\n- y\n\n\n- z\n\n  more\n\n      code\n\n1. one\n\n   ```js\n   a\n\n   b\n   ```\n\n2. two\n",
  "text\n```js\na\n\n# b\n```\ntext\n\n~~~\n```\n\n~~~~\n\n    indented\n\n    code\n\nend",
  "> quote\nlazy\n\n> - a\n>\n> - b\n\npara\n> quote\n\n***\n\nTitle\n===\n\n| a | b |\n|---|---|\n| 1 | 2 |\nafter\n",
  "<div>\n\n*a*\n\n</div>\n\n<pre>\na\n\n# b\n</pre>\n\n<!-- a\n\nb -->\n\nx <b>y</b>\n\n```\nopen\n\nto the end",
  "- a\n\n\tb\n\n- ```\n  x\n\n  y\n  ```\n- c\n\ntext\n* * *\n10) ten\n\n11) eleven\n\n[x]: y 'z'\n[q]: r\n\n[x] [q]\r\n\r\nend\r\n",
  "<p align=\"center\">\n  <img src=x>\n</p>\n\n<script>\n\n```\n\n</script>\n\n```\n<div>\n```\n\n`a`\n\n- [ ] b\n- [x] c\n\n## d\n",
];

test.each(usual)("the blocks of an ordinary text are those of the parser: %j", (text) => {
  const marked = new Marked({ gfm: true, breaks: true });
  const cut = sectionsOf(text.replace(/\r\n/g, "\n"))
    .flatMap(({ at, end }) => new Lexer(marked.defaults).lex(text.replace(/\r\n/g, "\n").slice(at, end)))
    .filter((t) => t.type !== "space")
    .map((t) => [t.type, t.raw.trim()]);
  const whole = new Lexer(marked.defaults)
    .lex(text)
    .filter((t) => t.type !== "space")
    .map((t) => [t.type, t.raw.trim()]);
  expect(cut).toEqual(whole);
});

test("long ordinary texts are formatted as a whole", () => {
  const long = [
    "Some words with *emphasis*, `code` and [a link](https://example.org). ".repeat(100),
    Array.from({ length: 300 }, (_, i) => `- **Item ${i}** says something about \`code\` and more`).join("\n"),
    `| a | b | c |\n|---|---|---|\n${"| **1** | `2` | [3](https://example.org) |\n".repeat(400)}`,
    `**Name**: said something that is not very long\n`.repeat(150),
    `![picture](data:image/png;base64,${"iVBORw0KGgo".repeat(9000)})`,
  ];
  for (const text of long) expect(check(text)).toEqual({ blocks: 1, plain: 0 });
  expect(check(`${long.join("\n\n# Title\n\n")}\n\n`.repeat(2)).plain).toBe(0);
});

test("unformatted text is split into pieces", () => {
  const list = (text: string) => piecesOf(text).list;
  expect(list("")).toEqual([]);
  expect(withoutEmptyLines("\n\n a\nb\n\n")).toBe(" a\nb");
  const lines = Array.from({ length: 250 }, (_, i) => `line ${i}\n`).join("");
  expect(list(lines).map((p) => p.split("\n").length - 1)).toEqual([100, 100, 50]);
  expect(list(lines).join("")).toBe(lines);
  const word = "😀".repeat(5001);
  expect(list(`a${word}`).join("")).toBe(`a${word}`);
  expect(list(`a${word}`).every((p) => p.length <= 4000 && p.isWellFormed())).toBe(true);
});

test("a growing text keeps all pieces but the last", () => {
  let seed = 7;
  const random = (n: number): number => (seed = (seed * 48_271) % 0x7fff_ffff) % n;
  for (let round = 0; round < 50; round++) {
    let text = "";
    let grown = piecesOf(text);
    for (let step = 0; step < 60; step++) {
      if (random(30) === 0) text = text.slice(0, random(text.length + 1)).toWellFormed();
      else text += ["a few words ", "x".repeat(random(5000)), "\n", "\n".repeat(random(150)), "😀".repeat(random(2500)), "line\n".repeat(random(120))][random(6)]!;
      const before = grown;
      grown = piecesOf(text, before);
      expect(grown).toEqual(piecesOf(text));
      if (text.startsWith(before.text)) expect(grown.list.slice(0, Math.max(before.list.length - 1, 0))).toEqual(before.list.slice(0, -1));
    }
  }
});
