// The texts of rows of tool calls, in both languages. They load with that part, after the first paint.

import { catalogue } from "../i18n/texts.js";

export const toolCalls = catalogue({
  opened: [(what: string) => `Opened “${what}”`, (what) => `“${what}” 열기`],
  updated: [(what: string) => `Updated “${what}”`, (what) => `“${what}” 업데이트`],
  closed: [(what: string) => `Closed “${what}”`, (what) => `“${what}” 닫기`],
  locked: [(what: string) => `Locked “${what}”`, (what) => `“${what}” 잠금`],
  unlocked: [(what: string) => `Unlocked “${what}”`, (what) => `“${what}” 잠금 해제`],
  saw: [(what: string) => `Looked at “${what}”`, (what) => `“${what}” 살펴보기`],
  listed: [() => "Looked through the windows", () => "창 목록 확인"],
  told: [(what: string) => `Showed a notice: ${what}`, (what) => `알림 표시: ${what}`],
  task: [(what: string) => `Gave a task: ${what}`, (what) => `작업 맡기기: ${what}`],
  asked: [(what: string) => `Asked you: ${what}`, (what) => `질문: ${what}`],
  read: [(what: string) => `Read ${what}`, (what) => `${what} 읽기`],
  saved: [(what: string) => `Saved ${what}`, (what) => `${what} 저장`],
  deleted: [(what: string) => `Deleted ${what}`, (what) => `${what} 삭제`],
  listedFiles: [() => "Looked through the files", () => "파일 목록 확인"],
  remembered: [(what: string) => `Remembered: ${what}`, (what) => `기억함: ${what}`],
});

/** Why a message, a run or a task ended or was rejected. */
