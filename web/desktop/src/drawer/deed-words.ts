// What agents did.

import { words } from "../i18n/words.js";

export default words(
  {
    opened: (what: string) => `Opened “${what}”`,
    updated: (what: string) => `Updated “${what}”`,
    closed: (what: string) => `Closed “${what}”`,
    locked: (what: string) => `Locked “${what}”`,
    unlocked: (what: string) => `Unlocked “${what}”`,
    saw: (what: string) => `Looked at “${what}”`,
    listed: () => "Looked through the windows",
    told: (what: string) => `Showed a notice: ${what}`,
    task: (what: string) => `Gave a task: ${what}`,
    asked: (what: string) => `Asked you: ${what}`,
    read: (what: string) => `Read ${what}`,
    saved: (what: string) => `Saved ${what}`,
    deleted: (what: string) => `Deleted ${what}`,
    listedFiles: () => "Looked through the files",
    remembered: (what: string) => `Remembered: ${what}`,
  },
  {
    opened: (what: string) => `“${what}” 열기`,
    updated: (what: string) => `“${what}” 업데이트`,
    closed: (what: string) => `“${what}” 닫기`,
    locked: (what: string) => `“${what}” 잠금`,
    unlocked: (what: string) => `“${what}” 잠금 해제`,
    saw: (what: string) => `“${what}” 살펴보기`,
    listed: () => "창 목록 확인",
    told: (what: string) => `알림 표시: ${what}`,
    task: (what: string) => `작업 맡기기: ${what}`,
    asked: (what: string) => `질문: ${what}`,
    read: (what: string) => `${what} 읽기`,
    saved: (what: string) => `${what} 저장`,
    deleted: (what: string) => `${what} 삭제`,
    listedFiles: () => "파일 목록 확인",
    remembered: (what: string) => `기억함: ${what}`,
  },
);
