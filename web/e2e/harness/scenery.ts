// A desktop that is worth a picture: a small team's release day. The same words every time, so that pictures change only
// when the page does.

import type { Action, Bounds, Component, Content, SessionID } from "../../core/src/index.js";
import type { Hub } from "./hub.js";

type Language = "en" | "ko";

interface Words {
  session: string;
  notes: string;
  notesText: string;
  table: string;
  tableData: { headers: string[]; rows: string[][] };
  board: string;
  boardParts: Component[];
  chart: string;
  question: string;
  answer: string;
}

const english: Words = {
  session: "Release 2.4",
  notes: "Release notes",
  notesText: [
    "# Everdesk 2.4",
    "",
    "> Sessions live on the hub. Close the tab, the work goes on.",
    "",
    "- [x] Resume in the middle of an answer",
    "- [x] Two screens, one session",
    "- [ ] Rolling update of the third replica",
    "",
    "```bash",
    "hub serve --store redis://cache:6379",
    "```",
  ].join("\n"),
  table: "Latency by region",
  tableData: {
    headers: ["Region", "p50", "p99", "Sessions"],
    rows: [
      ["Seoul", "18 ms", "61 ms", "1,204"],
      ["Frankfurt", "22 ms", "74 ms", "968"],
      ["Virginia", "25 ms", "83 ms", "1,511"],
      ["São Paulo", "41 ms", "120 ms", "377"],
    ],
  },
  board: "Rollout",
  boardParts: [
    { type: "text", content: "Rollout", variant: "heading" },
    { type: "progress", label: "replica-1", value: 100, variant: "success", showValue: true },
    { type: "progress", label: "replica-2", value: 100, variant: "success", showValue: true },
    { type: "progress", label: "replica-3", value: 64, showValue: true },
    { type: "badge", label: "0 messages lost", variant: "success" },
    { type: "button", label: "Continue", action: "continue", variant: "primary" },
  ],
  chart: "Events per second",
  question: "Summarise the rollout and keep an eye on replica-3.",
  answer: "Two of three replicas run 2.4. **No session was interrupted**; the slowest takeover took 1.8 s. I watch replica-3 and tell you when it is done.",
};

const korean: Words = {
  session: "2.4 배포",
  notes: "릴리스 노트",
  notesText: [
    "# Everdesk 2.4",
    "",
    "> 세션은 허브에 살아 있어요. 탭을 닫아도 일은 계속돼요.",
    "",
    "- [x] 답변 도중에도 이어 보기",
    "- [x] 화면 두 개, 세션 하나",
    "- [ ] 세 번째 복제본 순차 업데이트",
    "",
    "```bash",
    "hub serve --store redis://cache:6379",
    "```",
  ].join("\n"),
  table: "지역별 지연 시간",
  tableData: {
    headers: ["지역", "p50", "p99", "세션"],
    rows: [
      ["서울", "18 ms", "61 ms", "1,204"],
      ["프랑크푸르트", "22 ms", "74 ms", "968"],
      ["버지니아", "25 ms", "83 ms", "1,511"],
      ["상파울루", "41 ms", "120 ms", "377"],
    ],
  },
  board: "배포 현황",
  boardParts: [
    { type: "text", content: "배포 현황", variant: "heading" },
    { type: "progress", label: "replica-1", value: 100, variant: "success", showValue: true },
    { type: "progress", label: "replica-2", value: 100, variant: "success", showValue: true },
    { type: "progress", label: "replica-3", value: 64, showValue: true },
    { type: "badge", label: "잃어버린 메시지 0개", variant: "success" },
    { type: "button", label: "계속", action: "continue", variant: "primary" },
  ],
  chart: "초당 이벤트",
  question: "배포 상황을 요약하고 replica-3을 지켜봐 줘.",
  answer: "복제본 세 개 중 두 개가 2.4로 돌아가고 있어요. **중단된 세션은 없어요.** 가장 느린 인계는 1.8초였어요. replica-3이 끝나면 알려 드릴게요.",
};

/** A line chart in an html window: a few numbers, drawn as an SVG. */
function chart(dark: boolean): string {
  const values = [12, 18, 15, 22, 31, 28, 36, 44, 41, 52, 58, 55, 63, 71, 68, 76];
  const at = (v: number, n: number): string => `${20 + n * 24},${150 - v * 1.6}`;
  const line = values.map(at).join(" ");
  const ink = dark ? "#9aa7bd" : "#5b6780";
  return `<body style="margin:0;background:${dark ? "#141b27" : "#ffffff"};font:12px system-ui;color:${ink}">
<svg viewBox="0 0 400 170" style="display:block;width:100vw;height:100vh">
${[30, 70, 110, 150].map((y) => `<line x1="20" x2="390" y1="${y}" y2="${y}" stroke="${ink}" stroke-opacity=".2"/>`).join("")}
<polygon points="20,150 ${line} 380,150" fill="#4fc3b5" fill-opacity=".18"/>
<polyline points="${line}" fill="none" stroke="#4fc3b5" stroke-width="2.5" stroke-linejoin="round"/>
<circle cx="380" cy="${150 - 76 * 1.6}" r="4" fill="#4fc3b5"/><text x="338" y="22" fill="${ink}">76 k/s</text>
</svg>`;
}

function opens(windowId: string, title: string, bounds: Bounds, content: Content): Action {
  return { type: "window.create", windowId, title, bounds, content };
}

/** The windows of the picture, on a canvas of about 1060 by 790. */
function windows(w: Words, dark: boolean): Action[] {
  return [
    opens("chart", w.chart, { x: 24, y: 396, w: 480, h: 268 }, { renderer: "html", data: chart(dark) }),
    opens("notes", w.notes, { x: 24, y: 24, w: 480, h: 352 }, { renderer: "markdown", data: w.notesText }),
    opens("latency", w.table, { x: 524, y: 24, w: 490, h: 250 }, { renderer: "table", data: w.tableData }),
    opens("rollout", w.board, { x: 588, y: 294, w: 360, h: 370 }, { renderer: "component", data: { components: w.boardParts, cols: 1, gap: "md" } }),
  ];
}

/** Makes a session with windows, a conversation, and agents that are at work when `working` says so. */
export async function furnish(hub: Hub, language: Language, dark: boolean, working = true): Promise<SessionID> {
  const w = language === "ko" ? korean : english;
  const session = await hub.rest.newSession(w.session);
  await hub.rest.act(session, windows(w, dark));
  await hub.rest.say(session, `/think ${w.question}\n/call window_list {}\n/say ${w.answer}`);
  if (working) {
    await hub.rest.say(session, `/task default /sleep 600s\n/task default /sleep 600s`);
    await hub.rest.say(session, "/sleep 600s", "monitor-1");
  }
  return session;
}
