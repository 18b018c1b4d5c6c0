// Colours the code in texts of agents, with the grammars of the editor. It is part of the editor's file, which loads with the first code.

import { cssLanguage } from "@codemirror/lang-css";
import { htmlLanguage } from "@codemirror/lang-html";
import { javascriptLanguage, tsxLanguage } from "@codemirror/lang-javascript";
import { jsonLanguage } from "@codemirror/lang-json";
import { pythonLanguage } from "@codemirror/lang-python";
import type { Language } from "@codemirror/language";
import { highlightCode, tagHighlighter, tags } from "@lezer/highlight";
import type { CodeLanguage, CodePiece } from "../content/markdown/code-language.js";

const languages: Record<CodeLanguage, Language> = {
  css: cssLanguage,
  html: htmlLanguage,
  javascript: javascriptLanguage,
  json: jsonLanguage,
  python: pythonLanguage,
  typescript: tsxLanguage,
};

const highlighter = tagHighlighter([
  { tag: [tags.keyword, tags.tagName, tags.operatorKeyword], class: "md-code-keyword" },
  { tag: [tags.string, tags.attributeValue, tags.regexp], class: "md-code-string" },
  { tag: [tags.number, tags.bool, tags.null, tags.attributeName, tags.propertyName], class: "md-code-value" },
  { tag: tags.comment, class: "md-code-comment" },
]);

/** The pieces of a code, each with its class. Together they are the code. */
export function highlight(language: CodeLanguage, code: string): CodePiece[] {
  const pieces: CodePiece[] = [];
  highlightCode(code, languages[language].parser.parse(code), highlighter, (text, name) => pieces.push({ text, name }), () => pieces.push({ text: "\n", name: "" }));
  return pieces;
}
