// The texts of the page of a read-only link, in both languages. They load with that page.

import { catalogue } from "../i18n/texts.js";

export const guest = catalogue({
  readOnly: ["View only", "보기 전용"],
  means: [(until: string) => `You see this session as it happens and change nothing. The link works until ${until}.`, (until) => `이 세션을 실시간으로 보지만 바꾸지는 못해요. 링크 기한: ${until}`],
  moment: [(when: string) => `View only: ${when}`, (when) => `보기 전용: ${when}`],
  momentMeans: [
    (until: string) => `You see this session as it was then, and nothing that happened since. Pictures and files are left out. The link works until ${until}.`,
    (until) => `그때의 모습이에요. 그 뒤의 일과 그림, 파일은 보이지 않아요. 링크 기한: ${until}`,
  ],
  monitor: ["Monitor", "모니터"],
  desktop: ["The shared desktop", "공유된 데스크톱"],
  waiting: ["Connecting again…", "다시 연결하는 중…"],
  expired: ["This link has expired.", "기한이 지난 링크예요."],
  revoked: ["This link was revoked.", "취소된 링크예요."],
  ended: ["This link no longer works.", "이 링크는 더 이상 쓸 수 없어요."],
  endedWhy: ["It has expired, was revoked, or a part of the address is missing.", "기한이 지났거나 취소됐거나, 주소가 일부 빠졌어요."],
  askAgain: ["Ask the person who gave it to you for another.", "링크를 준 사람에게 새 링크를 부탁하세요."],
  gone: ["The session of this link was deleted.", "이 링크의 세션이 삭제됐어요."],
  busy: ["Too many have tried. Wait a minute, then load the page again.", "시도가 너무 많았어요. 잠시 뒤 새로고침하세요."],
  failed: ["This link cannot be opened now.", "지금은 이 링크를 열 수 없어요."],
  retry: ["Try again", "다시 시도"],
});
