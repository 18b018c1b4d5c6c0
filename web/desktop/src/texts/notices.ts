// The texts of notices, in both languages. They load with that part, after the first paint.

import { catalogue } from "../i18n/texts.js";

export const notices = catalogue({
  notices: ["Notices", "알림"],
  dismiss: ["Dismiss", "지우기"],
  dismissAll: ["Dismiss all", "모두 지우기"],
  centre: ["Notifications", "알림"],
  close: ["Close", "닫기"],
  empty: ["All quiet", "새 소식이 없어요"],
  emptyHint: ["What agents want you to know stays here until you dismiss it.", "에이전트가 알려 드리는 소식은 지울 때까지 여기에 남아 있어요."],
  monitor: [(n: number) => `Monitor ${n}`, (n) => `모니터 ${n}`],
  open: ["Show all", "모두 보기"],
  new: ["New", "새 알림"],
  info: ["Note", "안내"],
  success: ["Done", "완료"],
  warning: ["Careful", "주의"],
  error: ["Problem", "문제"],
  pressed: ["Told the agent", "에이전트에게 알렸어요"],
  given: [(user: string) => `${user} is the owner of this session now.`, (user) => `이 세션의 새 소유자: ${user}`],
  givenToYou: [(from: string) => `${from} handed this session over to you.`, (from) => `이제 이 세션의 소유자예요. 넘겨준 사람: ${from}`],
  finished: ["Finished", "끝났어요"],
  failed: ["Failed", "실패했어요"],
  needsYou: ["Needs you", "확인이 필요해요"],
  finishedBody: [
    (session: string, n: number) => `${session} · monitor ${n} has finished.`,
    (session, n) => `${session} · 모니터 ${n}의 작업이 끝났어요.`,
  ],
  failedBody: [
    (session: string, n: number, why: string) => `${session} · monitor ${n}: ${why}`,
    (session, n, why) => `${session} · 모니터 ${n}: ${why}`,
  ],
  needsYouBody: [
    (session: string, n: number, what: string) => `${session} · monitor ${n}: ${what}`,
    (session, n, what) => `${session} · 모니터 ${n}: ${what}`,
  ],
  planFinished: ["The plan is finished", "계획을 모두 끝냈어요"],
  planFailed: ["The plan failed", "계획이 실패했어요"],
  planBody: [(session: string, what: string) => `${session} · plan: ${what}`, (session, what) => `${session} · 계획: ${what}`],
  unnamed: ["Your desktop", "내 데스크톱"],
  failedPlain: ["it ended with a problem", "문제가 생겨 끝났어요"],
});
