// The work of an agent with a tool in words, while the call runs. Its input is not known yet.

import type { Language } from "../i18n/texts.js";
import { toolCalls } from "../texts/tool-calls.js";
import { toolActionOf } from "./tool-actions.js";

export function workingWith(tool: string, language: Language): string {
  const { kind, what } = toolActionOf(tool, undefined);
  const text = toolCalls[language][kind](1, what, true);
  return language === "ko" ? inProgress(text) : gerund(text);
}

/** "Run a command" is "Running a command". */
function gerund(text: string): string {
  const [verb = "", ...rest] = text.split(" ");
  const stem = /^(?:Run|Stop|Put|Forget)$/.test(verb) ? verb + verb.at(-1) : verb.replace(/e$/, "");
  return [`${stem}ing`, ...rest].join(" ");
}

/** "파일 읽기" is "파일 읽는 중", and "명령 실행" is "명령 실행 중". */
function inProgress(text: string): string {
  if (text.endsWith("열기")) return `${text.slice(0, -2)}여는 중`;
  return text.endsWith("기") ? `${text.slice(0, -1)}는 중` : `${text} 중`;
}
