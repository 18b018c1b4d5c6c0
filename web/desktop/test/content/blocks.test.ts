import { expect, test } from "vitest";
import { countUnclosed, htmlOf, type Split, split } from "../../src/content/markdown/blocks.js";

const sample = `# Title

A paragraph with [a link][1] and **bold**
and a second line.

- one
- two

  still two
- [x] three

| a | b |
|---|--:|
| 1 | 2 |

\`\`\`js
const x = 1;

// still code
\`\`\`

> quoted

<details>
<summary>More</summary>

Inside *it*.

</details>

[1]: https://example.org "there"

The end
===
`;

/** Splits a text as it arrives in pieces. */
function streamed(text: string, step: number): Split {
  let before: Split | undefined;
  for (let at = step; at < text.length + step; at += step) before = split(text.slice(0, at), before);
  return before!;
}

test.each([1, 2, 3, 7, 50, 1000])("a text that grows by %i is split as if it arrived at once", (step) => {
  const whole = split(sample);
  const grown = streamed(sample, step);
  expect(grown.blocks.map((b) => b.raw.trim())).toEqual(whole.blocks.map((b) => b.raw.trim()));
  expect(grown.links).toEqual(whole.links);
});

test("parsed blocks stay the same objects", () => {
  const first = split("# A\n\nb\n\nc\n\nd");
  const more = split("# A\n\nb\n\nc\n\nd and e\n\nf", first);
  expect(more.blocks[0]).toBe(first.blocks[0]);
  expect(more.blocks[1]).toBe(first.blocks[1]);
  expect(more.links).toBe(first.links);
  expect(more.blocks.map((b) => b.raw.trim())).toEqual(["# A", "b", "c", "d and e", "f"]);
});

test("another text is parsed from its beginning", () => {
  const first = split("# A\n\nb\n\nc");
  expect(split("# B", first).blocks.map((b) => b.raw)).toEqual(["# B"]);
});

test("an unclosed element continues through the next blocks", () => {
  const { blocks } = split(sample);
  const details = blocks.find((b) => b.raw.includes("<details>"))!;
  expect(details.raw).toContain("Inside *it*.");
  expect(details.raw).toContain("</details>");
  expect(blocks.at(-1)!.raw).toContain("The end");
});

test("code has its language and text", () => {
  const code = split(sample).blocks.find((b) => b.code !== undefined)!.code!;
  expect(code).toEqual({ lang: "js", text: "const x = 1;\n\n// still code" });
  expect(split('```"><img>\nx\n```').blocks[0]!.code!.lang).toBe("");
});

test("link definitions are found", () => {
  const { blocks, links } = split(sample);
  expect(htmlOf(blocks[1]!.raw, links)).toContain('href="https://example.org"');
});

test("code in a list has its language and stays text", () => {
  const html = htmlOf('- a\n\n  ```html\n  <b onclick="x">"\n  ```\n', {});
  expect(html).toContain('<pre lang="html"><code>&lt;b onclick=&quot;x&quot;&gt;&quot;');
});

test("unclosed elements are counted", () => {
  expect(countUnclosed("<details><summary>a</summary>")).toBe(1);
  expect(countUnclosed("<br><img src=x><hr/>")).toBe(0);
  expect(countUnclosed("</div>")).toBe(-1);
  expect(countUnclosed("<div><p></p></div>")).toBe(0);
});

test("parsing takes bounded time for any input", () => {
  const before = process.cpuUsage();
  for (const text of [`<${"a".repeat(200_000)}`, "<a ".repeat(50_000), "**".repeat(5_000), "[".repeat(5_000)]) {
    countUnclosed(text);
    split(text);
  }
  const { user } = process.cpuUsage(before); // unlike wall time it does not include other programs
  expect(user / 1e6, "seconds of processor time").toBeLessThan(5);
});
