// css.mjs   finds dead styles. It reports classes, keyframes and custom properties of style sheets that nothing uses, and classes
// of elements that neither a style sheet nor a selector mentions.
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { parseAst } from "vite";
import { filesIn } from "./files.mjs";

const web = fileURLToPath(new URL("..", import.meta.url));

/** Classes that packages give to elements. */
const ofPackages = /^(?:u-|uplot)/;

const classInSelector = /\.([A-Za-z_][\w-]*)/g;
const all = (text, pattern) => [...text.matchAll(pattern)].map((m) => m[1]);

/** The definitions of a style sheet, and the custom properties and keyframes that its values mention. */
function readStyle(css) {
  const text = css.replaceAll(/\/\*[^]*?\*\//g, "").replaceAll(/"[^"]*"|url\([^)]*\)/g, "");
  const selectors = (text.match(/[^{};]+(?=\{)/g) ?? []).filter((s) => !/^\s*@/.test(s));
  return {
    classes: selectors.flatMap((s) => all(s, classInSelector)),
    keyframes: all(text, /@keyframes\s+([\w-]+)/g),
    properties: all(text, /(?:^|[{;\s])(--[\w-]+)\s*:/g),
    mentioned: [...all(text, /var\(\s*(--[\w-]+)/g), ...all(text, /animation(?:-name)?\s*:([^;}]*)/g).flatMap((value) => value.match(/[\w-]+/g) ?? [])],
  };
}

/**
 * Calls visit(node, inClassName, inTemplate) for each node of a syntax tree. The flags say whether it is inside a
 * className attribute, and inside a template literal.
 */
function walk(node, visit, inClassName = false, inTemplate = false) {
  if (Array.isArray(node)) {
    for (const child of node) walk(child, visit, inClassName, inTemplate);
    return;
  }
  if (node === null || typeof node !== "object") return;
  if (typeof node.type === "string") visit(node, inClassName, inTemplate);
  // A string that is compared inside className={…} is no class.
  const className = (inClassName && node.type !== "BinaryExpression") || (node.type === "JSXAttribute" && node.name.name === "className");
  for (const child of Object.values(node)) walk(child, visit, className, inTemplate || node.type === "TemplateLiteral");
}

const newStrings = () => ({
  /** Every word of every string. */
  words: new Set(),
  /** The words that precede a value in a template without a space, such as button- in `button-${kind}`. */
  prefixes: new Set(),
  /** The words of className attributes. */
  given: new Set(),
  /** The classes of selectors, such as x of querySelector(".x"). */
  selected: new Set(),
});

/** Adds the strings of a source to strings. */
function readSource(code, lang, strings) {
  const read = (text, { given, endsInValue = false, beginsInValue = false }) => {
    for (const c of all(text, classInSelector)) strings.selected.add(c);
    const words = text.split(/\s+/);
    for (const [i, word] of words.entries()) {
      if (word === "" || (beginsInValue && i === 0)) continue; // the end of a word that begins with a value
      if (endsInValue && i === words.length - 1) strings.prefixes.add(word);
      else if (given) strings.given.add(word);
      strings.words.add(word);
    }
  };
  walk(parseAst(code, { lang }).body, (node, inClassName, inTemplate) => {
    const given = inClassName && !inTemplate;
    if (node.type === "Literal" && typeof node.value === "string") read(node.value, { given });
    if (node.type !== "TemplateLiteral") return;
    const last = node.quasis.length - 1;
    for (const [i, quasi] of node.quasis.entries()) read(quasi.value.cooked ?? "", { given, endsInValue: i < last, beginsInValue: i > 0 });
  });
}

/** Whether a source can produce the class: as a word, or as a prefix followed by a word or a number. */
function isProduced(name, { words, prefixes }) {
  const isRest = (rest) => words.has(rest) || /^\d+$/.test(rest);
  return words.has(name) || [...prefixes].some((prefix) => name.startsWith(prefix) && isRest(name.slice(prefix.length)));
}

const [sources, tests] = [newStrings(), newStrings()];
const styles = [];
for (const folder of ["desktop", "admin", "apps", "core", "e2e"]) {
  for (const file of await filesIn(`${web}/${folder}`)) {
    const text = await readFile(`${web}/${folder}/${file}`, "utf8");
    const isTest = folder === "e2e" || /^(?:test|bench)\//.test(file);
    if (file.endsWith(".css")) styles.push({ file: `${folder}/${file}`, ...readStyle(text) });
    if (file.endsWith(".html")) for (const value of all(text, /class="([^"]*)"/g)) for (const c of value.split(/\s+/)) sources.words.add(c);
    if (/\.tsx?$/.test(file)) readSource(text, file.endsWith("x") ? "tsx" : "ts", isTest ? tests : sources);
  }
}

const dead = [];
const styled = new Set(styles.flatMap((s) => s.classes));
const mentioned = new Set(styles.flatMap((s) => s.mentioned));
for (const { file, classes, keyframes, properties } of styles) {
  for (const c of new Set(classes)) if (!ofPackages.test(c) && !isProduced(c, sources)) dead.push(`${file}: no element has the class ${c}`);
  for (const k of new Set(keyframes)) if (!mentioned.has(k) && !sources.words.has(k)) dead.push(`${file}: no rule uses the keyframes ${k}`);
  for (const p of new Set(properties)) if (!mentioned.has(p) && !sources.words.has(p) && !sources.words.has(p.slice(2))) dead.push(`${file}: no rule uses the property ${p}`);
}
for (const c of sources.given) {
  const isVariant = [...sources.prefixes].some((prefix) => prefix.endsWith("-") && c.startsWith(prefix));
  const isKnown = styled.has(c) || sources.selected.has(c) || tests.selected.has(c) || ofPackages.test(c);
  if (!isKnown && !isVariant) dead.push(`the class ${c} is in no style sheet and in no selector`);
}
for (const line of dead) console.error(line);
process.exitCode = dead.length > 0 ? 1 : 0;
