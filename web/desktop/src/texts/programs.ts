// The texts of connecting programs, in both languages. They load with that part, after the first paint.

import { catalogue } from "../i18n/texts.js";

export const programs = catalogue({
  title: ["Connect a program", "프로그램 연결하기"],
  close: ["Close", "닫기"],
  intro: [
    "Claude Desktop, Codex, editors and other MCP clients can use the tools of this session. What they do appears here under their name, and you are asked before anything that needs your approval.",
    "Claude Desktop, Codex, 편집기 등 MCP 클라이언트가 이 세션의 도구를 쓸 수 있어요. 한 일은 그 이름으로 여기에 나타나고, 승인이 필요한 일은 먼저 물어봐요.",
  ],
  name: ["Name of the program", "프로그램 이름"],
  profile: ["Tools that it gets", "쓸 수 있는 도구"],
  profileDefault: ["Windows, files, questions", "창, 파일, 질문"],
  profileAll: ["All tools, with memory and tasks", "기억과 작업을 포함한 모든 도구"],
  profileCode: ["For code", "코드용"],
  profileWeb: ["For web pages", "웹용"],
  profileApp: ["For apps", "앱용"],
  validity: ["How long it is valid", "유효 기간"],
  days: [(n: number) => (n === 1 ? "1 day" : `${n} days`), (n) => `${n}일`],
  create: ["Create a token", "토큰 만들기"],
  ready: ["Copy one of these now", "지금 하나를 복사하세요"],
  once: [
    "The token in them is not shown again. Whoever has it can use the tools of this session as you.",
    "여기 들어 있는 토큰은 다시 보여 드리지 않아요. 이 토큰이 있으면 누구나 나처럼 이 세션의 도구를 쓸 수 있어요.",
  ],
  byURL: ["For clients that connect to a URL:", "URL로 연결하는 클라이언트용:"],
  byProgram: ["For Claude Desktop and others that start a program:", "Claude Desktop처럼 프로그램을 실행하는 클라이언트용:"],
  byCodex: ["For Codex, in ~/.codex/config.toml:", "Codex용, ~/.codex/config.toml 파일에:"],
  tokens: ["Tokens of this session", "이 세션의 토큰"],
  reading: ["Reading the tokens…", "토큰을 불러오는 중…"],
  none: ["No program has a token yet.", "아직 토큰이 있는 프로그램이 없어요."],
  failed: [(reason: string) => `That did not work: ${reason}`, (reason) => `잘 안 됐어요: ${reason}`],
  again: ["Try again", "다시 시도"],
  unused: ["Never used", "사용한 적 없음"],
  used: [(when: string) => `Used ${when}`, (when) => `마지막 사용 ${when}`],
  until: [(when: string) => `Valid until ${when}`, (when) => `${when}까지 유효`],
  revoke: [(name: string) => `Revoke the token of “${name}”`, (name) => `“${name}” 토큰 취소`],
});
