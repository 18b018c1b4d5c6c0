import { words } from "../../../desktop/src/i18n/words.js";

export default words(
  {
    charts: "The last 15 minutes",
    show: "Charts",
    events: "Events/s",
    deliveries: "Deliveries/s",
    append: "Append",
    agents: "Agents",
    queued: "Queue depth",
    takeovers: "Takeovers",
    p50: "p50",
    p99: "p99",
    most: "most",
    summary: (what: string, now: string, most: string) => `${what}: now ${now}, at most ${most} in the last 15 minutes.`,
  },
  {
    charts: "최근 15분",
    show: "차트",
    events: "이벤트/초",
    deliveries: "전달/초",
    append: "기록 시간",
    agents: "에이전트",
    queued: "대기열 길이",
    takeovers: "넘겨받기",
    p50: "p50",
    p99: "p99",
    most: "최대",
    summary: (what: string, now: string, most: string) => `${what}: 지금 ${now}, 최근 15분 최대 ${most}.`,
  },
);
