// The texts of phones, in both languages. They load with that part, after the first paint.

import { catalogue } from "../i18n/texts.js";

export const phone = catalogue({
  header: ["Session", "세션"],
  pages: ["Pages", "화면"],
  chat: ["Chat", "대화"],
  windows: ["Windows", "창"],
  inbox: ["Inbox", "확인 요청"],
  windowsCount: [(n: number) => (n === 1 ? "1 window" : `${n} windows`), (n) => `창 ${n}개`],
  inboxCount: [(n: number) => (n === 1 ? "1 question waits" : `${n} questions wait`), (n) => `${n}개 대기 중`],
  noWindows: ["There is no window on this monitor.", "이 모니터에는 창이 없어요."],
  noWindowsHint: ["Ask for one in the chat.", "대화에서 부탁해 보세요."],
  toChat: ["To the chat", "대화로 가기"],
  back: ["Back to all windows", "모든 창으로 돌아가기"],
  close: ["Close the window", "창 닫기"],
  monitor: [(n: number) => `Monitor ${n}`, (n) => `모니터 ${n}`],
  monitors: ["Monitors", "모니터"],
  addMonitor: ["New monitor", "새 모니터"],
  untitled: ["Untitled window", "제목 없는 창"],
  minimised: ["minimised", "최소화됨"],
  working: ["working", "작업 중"],
});
