// The texts of the time machine, in both languages. They load with that part, after the first paint.

import { catalogue } from "../i18n/texts.js";

export const film = catalogue({
  slash: ["Watch what happened as a film", "지난 일을 영화처럼 보기"],
  title: ["Time machine", "타임머신"],
  close: ["Close", "닫기"],
  readOnly: ["You are watching what happened. Nothing changes.", "지난 일을 보고 있어요. 아무것도 바뀌지 않아요."],
  loading: [(n: number) => (n === 0 ? "Reading what happened…" : `Reading what happened… ${n} steps`), (n) => (n === 0 ? "지난 일을 불러오는 중…" : `지난 일을 불러오는 중… ${n}단계`)],
  failed: [(why: string) => `What happened could not be read: ${why}`, (why) => `지난 일을 불러오지 못했어요: ${why}`],
  again: ["Try again", "다시 시도"],
  beginning: ["The beginning", "처음"],
  windows: [(n: number) => (n === 1 ? "The desktop with 1 window" : `The desktop with ${n} windows`), (n) => `데스크톱, 창 ${n}개`],
  noWindows: ["No window is open", "열린 창이 없어요"],
  conversation: ["The conversation so far", "이때까지의 대화"],
  noRows: ["Nothing was said yet", "아직 나눈 말이 없어요"],
  working: ["At work…", "작업 중…"],
  earlier: ["Of this moment only the windows are stored.", "이 순간은 창만 저장되어 있어요."],
  outside: ["Pages, apps and files are not part of the film: they show the present.", "페이지와 앱, 파일은 지금 모습만 있어서 여기서는 보여 주지 않아요."],
  monitor: ["Monitor", "모니터"],

  // the controls
  play: ["Play", "재생"],
  pause: ["Pause", "일시 정지"],
  previous: ["The moment before", "이전 순간"],
  next: ["The next moment", "다음 순간"],
  slider: ["Moment", "순간"],
  position: [(n: number, of: number) => `${n} of ${of}`, (n, of) => `${of} 중 ${n}`],
  jump: ["Jump to", "이동"],
  speed: ["Speed", "속도"],
  keys: ["Space plays, ← → steps, Page Up and Page Down jump, + − changes the speed", "스페이스로 재생, ← →로 한 단계, Page Up·Page Down으로 이동, + −로 속도 조절"],
  markMessage: ["Message", "메시지"],
  markPlan: ["Plan", "계획"],
  markCheckpoint: ["Saved state", "저장된 상태"],
  markRestore: ["Restored", "되돌림"],
  share: ["Share this moment", "이 순간 공유"],
  shared: ["Link copied. It opens for people who may see this session.", "링크를 복사했어요. 이 세션을 볼 수 있는 사람에게 열려요."],

  // going back
  goBack: ["Go back to here…", "여기로 돌아가기…"],
  nothingToUndo: ["Nothing was said after this moment", "이 순간 이후에 나눈 말이 없어요"],
  restoreTitle: ["Go back to a saved state", "저장된 상태로 돌아가기"],
  restoreText: [(when: string) => `Files and windows become as they were on ${when}. The conversation stays.`, (when) => `파일과 창이 저장된 상태로 돌아가요 (${when}). 대화는 그대로예요.`],
  restoreUndo: ["The present state is saved first, so you can undo this.", "지금 상태를 먼저 저장하니 되돌릴 수 있어요."],
  restoreFailed: [(why: string) => `Not restored: ${why}`, (why) => `되돌리지 못했어요: ${why}`],
  restore: ["Go back", "돌아가기"],
  restoring: ["Going back…", "돌아가는 중…"],
  cancel: ["Cancel", "그대로 두기"],
});
