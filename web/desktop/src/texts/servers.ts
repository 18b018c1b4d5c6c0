// The texts of MCP servers, in both languages. They load with that part, after the first paint.

import { catalogue } from "../i18n/texts.js";

export const servers = catalogue({
  title: ["MCP servers", "MCP 서버"],
  close: ["Close", "닫기"],
  reading: ["Reading your servers…", "서버를 불러오는 중…"],
  failed: [(reason: string) => `That did not work: ${reason}`, (reason) => `잘 안 됐어요: ${reason}`],
  again: ["Try again", "다시 시도"],
  lead: ["Agents can use the tools of these servers. They start when they are needed.", "에이전트가 이 서버들의 도구를 쓸 수 있어요. 서버는 필요할 때 시작돼요."],
  none: ["There are none yet.", "아직 없어요."],
  stopped: ["not running", "멈춤"],
  starting: ["starting", "시작하는 중"],
  ready: ["ready", "준비됨"],
  broken: ["failed", "실패"],
  stopping: ["stopping", "멈추는 중"],
  disabled: ["switched off", "꺼짐"],
  trying: ["trying…", "시도하는 중…"],
  ofOperator: ["of the operator", "운영자 제공"],
  secrets: [(names: string) => `Uses the secrets: ${names}`, (names) => `사용하는 비밀: ${names}`],
  try: ["Try", "시도"],
  tryOf: [(name: string) => `Try ${name}`, (name) => `시도: ${name}`],
  logOf: [(name: string) => `Log of ${name}`, (name) => `기록: ${name}`],
  noLog: ["Nothing happened yet.", "아직 기록이 없어요."],
  removeOf: [(name: string) => `Delete ${name}`, (name) => `삭제: ${name}`],
  removeAsk: ["Delete this server? Agents lose its tools.", "이 서버를 삭제할까요? 에이전트가 도구를 쓸 수 없게 돼요."],
  remove: ["Delete", "삭제"],
  cancel: ["Cancel", "취소"],
  tools: [(n: number) => (n === 1 ? "1 tool" : `${String(n)} tools`), (n) => `도구 ${String(n)}개`],
  paste: ["Paste the servers that you have in Claude Desktop, VS Code or Cursor", "Claude Desktop, VS Code, Cursor에서 쓰는 서버 설정을 붙여 넣으세요"],
  commands: [`Servers may be addresses or programs. Write secrets as \${secret:NAME}.`, `주소나 프로그램을 쓸 수 있어요. 비밀은 \${secret:이름} 형식으로 쓰세요.`],
  noCommands: [`Servers are addresses; this hub runs no programs of users unless its operator allows it (--user-mcp-commands on). Write secrets as \${secret:NAME}.`, `주소만 쓸 수 있어요. 운영자가 허용하지 않으면(--user-mcp-commands on) 이 허브는 사용자의 프로그램을 실행하지 않아요. 비밀은 \${secret:이름} 형식으로 쓰세요.`],
  add: ["Add servers", "서버 추가"],
  secret: [(name: string) => `Secret ${name}, which this server needs`, (name) => `이 서버에 필요한 비밀: ${name}`],
  saveSecret: ["Save", "저장"],
  switchOnOf: [(name: string) => `Switch on ${name}`, (name) => `켜기: ${name}`],
  switchOffOf: [(name: string) => `Switch off ${name}`, (name) => `끄기: ${name}`],
  conflict: ["Your servers were changed in another tab. Press it again.", "다른 탭에서 서버가 바뀌었어요. 다시 눌러 주세요."],
});

/** The settings of the user. Settings that have no name here are shown with those of the hub. */
