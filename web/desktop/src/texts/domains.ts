// The texts of allowed domains, in both languages. They load with that part, after the first paint.

import { catalogue } from "../i18n/texts.js";

export const domains = catalogue({
  title: ["Allowed domains", "허용한 도메인"],
  close: ["Close", "닫기"],
  reading: ["Reading your domains…", "도메인을 불러오는 중…"],
  failed: [(reason: string) => `That did not work: ${reason}`, (reason) => `잘 안 됐어요: ${reason}`],
  again: ["Try again", "다시 시도"],
  lead: [
    "Agents and apps can read pages of these domains and send data there, on all your desktops. They ask before they use another one.",
    "에이전트와 앱이 모든 데스크톱에서 이 도메인의 페이지를 읽고 데이터를 보낼 수 있어요. 다른 도메인은 먼저 물어봐요.",
  ],
  none: ["No domain is allowed yet.", "아직 허용한 도메인이 없어요."],
  all: ["All domains are allowed.", "모든 도메인이 허용되어 있어요."],
  notAll: ["Allow only those below", "아래 도메인만 허용"],
  removeOf: [(name: string) => `Do not allow ${name} any more`, (name) => `허용 취소: ${name}`],
  name: ["Domain, without the ones below it", "도메인 (하위 도메인 제외)"],
  add: ["Allow", "허용"],
});
