// Templates: desktops to begin with. Each has windows, apps of the market and instructions for the agents.

import type { Action, Bounds, Component, Content } from "../../../core/src/index.js";
import type { Language } from "../i18n/texts.js";

export const templateIds = ["trip", "release", "data", "study"] as const;
export type TemplateID = (typeof templateIds)[number];

/** A window of a template. Its place is in parts of the canvas, from 0 to 1. */
interface Part {
  readonly id: string;
  readonly title: string;
  readonly place: readonly [x: number, y: number, w: number, h: number];
  readonly content: Content;
}

export interface Template {
  readonly title: string;
  /** Instructions for the agents of the session. */
  readonly instructions: string;
  readonly parts: readonly Part[];
  /** The id of an app of the market, and the place of its window. */
  readonly app: string;
  readonly appPlace: Part["place"];
}

const markdown = (data: string): Content => ({ renderer: "markdown", data });
const table = (headers: string[], rows: string[][]): Content => ({ renderer: "table", data: { headers, rows } });
const layout = (cols: number, components: Component[]): Content => ({ renderer: "component", data: { components, cols } });
const form = (fields: [name: string, label: string, placeholder: string][], action: string, label: string): Content =>
  layout(1, [
    ...fields.map(([name, text, placeholder]): Component => ({ type: "input", name, label: text, placeholder, formId: "ask" })),
    { type: "button", label, action, submitForm: "ask", variant: "primary" },
  ]);

/** The template in a language. */
export function templateOf(id: TemplateID, language: Language): Template {
  const ko = language === "ko";
  const say = (en: string, korean: string): string => (ko ? korean : en);
  switch (id) {
    case "trip":
      return {
        title: say("Trip planner", "여행 계획"),
        instructions: say(
          "This desktop plans a trip. Keep the table Itinerary, the table Budget and the list of what to pack up to date, and ask before you assume dates or prices.",
          "이 데스크톱은 여행을 계획합니다. 일정 표, 예산 표, 챙길 것 목록을 항상 최신으로 유지하고, 날짜나 가격은 짐작하지 말고 먼저 물어보세요.",
        ),
        app: "todo",
        appPlace: [0.68, 0.46, 0.32, 0.54],
        parts: [
          {
            id: "trip-ask",
            title: say("Where to?", "어디로 갈까요?"),
            place: [0, 0, 0.3, 0.54],
            content: form(
              [
                ["where", say("Where", "어디"), say("Lisbon", "부산")],
                ["when", say("When", "언제"), say("Three days in May", "5월에 사흘")],
                ["likes", say("What you like", "좋아하는 것"), say("Food, old streets, the sea", "맛집, 골목, 바다")],
              ],
              "plan-trip",
              say("Plan it", "계획해 줘"),
            ),
          },
          {
            id: "trip-days",
            title: say("Itinerary", "일정"),
            place: [0.3, 0, 0.7, 0.46],
            content: table(
              ko ? ["날", "오전", "오후", "저녁"] : ["Day", "Morning", "Afternoon", "Evening"],
              ko ? [["1일", "도착", "동네 산책", "해산물 저녁"], ["2일", "시장", "박물관", "야경"], ["3일", "카페", "기념품", "출발"]] : [["1", "Arrive", "A walk around", "Seafood by the river"], ["2", "Market", "Museum", "View at night"], ["3", "Café", "Souvenirs", "Depart"]],
            ),
          },
          {
            id: "trip-budget",
            title: say("Budget", "예산"),
            place: [0.3, 0.46, 0.38, 0.54],
            content: table(
              ko ? ["항목", "예상", "실제"] : ["What", "Planned", "Spent"],
              ko ? [["교통", "120000", "0"], ["숙소", "240000", "0"], ["음식", "150000", "0"], ["입장료", "40000", "0"]] : [["Travel", "180", "0"], ["Hotel", "270", "0"], ["Food", "150", "0"], ["Tickets", "45", "0"]],
            ),
          },
          {
            id: "trip-pack",
            title: say("To pack", "챙길 것"),
            place: [0, 0.54, 0.3, 0.46],
            content: markdown(say("- [ ] Passport\n- [ ] Charger\n- [ ] Rain jacket\n- [ ] Good shoes", "- [ ] 신분증\n- [ ] 충전기\n- [ ] 우산\n- [ ] 편한 신발")),
          },
        ],
      };
    case "release":
      return {
        title: say("Release cockpit", "출시 상황판"),
        instructions: say(
          "This desktop prepares a release. Keep the checklist, the risks and the status up to date. Never publish anything without asking.",
          "이 데스크톱은 출시를 준비합니다. 점검표, 위험, 현황을 최신으로 유지하세요. 먼저 묻지 않고는 아무것도 공개하지 마세요.",
        ),
        app: "kanban",
        appPlace: [0.36, 0, 0.64, 0.56],
        parts: [
          {
            id: "release-status",
            title: say("Status", "현황"),
            place: [0, 0, 0.36, 0.56],
            content: layout(1, [
              { type: "text", content: say("Release 1.0", "1.0 출시"), variant: "heading" },
              { type: "badge", label: say("on track", "순조로움"), variant: "success" },
              { type: "progress", label: say("Code", "코드"), value: 80, showValue: true },
              { type: "progress", label: say("Tests", "테스트"), value: 55, showValue: true },
              { type: "progress", label: say("Manual", "설명서"), value: 30, showValue: true },
              { type: "button", label: say("What is missing?", "무엇이 남았나요?"), action: "what-is-missing" },
            ]),
          },
          {
            id: "release-risks",
            title: say("Risks", "위험"),
            place: [0.5, 0.56, 0.5, 0.44],
            content: table(
              ko ? ["위험", "가능성", "대책"] : ["Risk", "Chance", "What we do"],
              ko ? [["심사가 늦어짐", "보통", "일주일 먼저 제출"], ["번역 누락", "낮음", "목록으로 점검"]] : [["Review takes longer", "medium", "Submit a week early"], ["A translation is missing", "low", "Check with the list"]],
            ),
          },
          {
            id: "release-list",
            title: say("Before we publish", "공개하기 전에"),
            place: [0, 0.56, 0.5, 0.44],
            content: markdown(
              say("- [x] Version number\n- [ ] Notes for users\n- [ ] Backup of the old version\n- [ ] Someone watches the first hour", "- [x] 버전 번호\n- [ ] 사용자 안내문\n- [ ] 이전 버전 백업\n- [ ] 첫 한 시간 지켜보기"),
            ),
          },
        ],
      };
    case "data":
      return {
        title: say("Data desk", "데이터 책상"),
        instructions: say(
          "This desktop explores data. Show numbers as tables and charts in windows, name the source of each number, and say how sure you are.",
          "이 데스크톱은 데이터를 살펴봅니다. 숫자는 표와 차트 창으로 보여 주고, 출처를 밝히고, 얼마나 확실한지 말하세요.",
        ),
        app: "csv-explorer",
        appPlace: [0.4, 0, 0.6, 0.6],
        parts: [
          {
            id: "data-table",
            title: say("Example: visitors", "예시: 방문자"),
            place: [0, 0, 0.4, 0.6],
            content: table(
              ko ? ["요일", "방문", "주문"] : ["Day", "Visits", "Orders"],
              (ko ? ["월", "화", "수", "목", "금", "토", "일"] : ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]).map((day, i) => [day, String([410, 380, 520, 470, 610, 300, 250][i]), String([21, 18, 30, 26, 41, 12, 9][i])]),
            ),
          },
          {
            id: "data-ask",
            title: say("Ask the data", "데이터에 묻기"),
            place: [0, 0.6, 0.4, 0.4],
            content: form([["question", say("Question", "질문"), say("Which day is the best one?", "어느 요일이 가장 좋나요?")]], "ask-data", say("Ask", "묻기")),
          },
          {
            id: "data-note",
            title: say("How to begin", "시작하는 방법"),
            place: [0.4, 0.6, 0.6, 0.4],
            content: markdown(
              say("Drop a **CSV file** anywhere on the desktop. It opens as a table, and agents can read it.\n\n> Try: *Show the visitors as a chart.*", "**CSV 파일**을 데스크톱 아무 곳에나 놓으세요. 표로 열리고 에이전트도 읽을 수 있어요.\n\n> 이렇게 말해 보세요: *방문자를 차트로 보여 줘.*"),
            ),
          },
        ],
      };
    case "study":
      return {
        title: say("Study room", "공부방"),
        instructions: say(
          "This desktop is for learning. Explain step by step, ask questions back, and keep the list of cards up to date with what the learner got wrong.",
          "이 데스크톱은 공부를 위한 곳입니다. 차근차근 설명하고, 되물어 보고, 틀린 내용으로 카드 목록을 최신으로 유지하세요.",
        ),
        app: "timer",
        appPlace: [0.66, 0.5, 0.34, 0.5],
        parts: [
          {
            id: "study-plan",
            title: say("This week", "이번 주"),
            place: [0.34, 0, 0.66, 0.5],
            content: table(
              ko ? ["요일", "주제", "시간"] : ["Day", "Topic", "Minutes"],
              ko ? [["월", "단어 20개", "25"], ["수", "문법", "40"], ["금", "말하기", "30"], ["일", "복습", "20"]] : [["Mon", "20 words", "25"], ["Wed", "Grammar", "40"], ["Fri", "Speaking", "30"], ["Sun", "Review", "20"]],
            ),
          },
          {
            id: "study-ask",
            title: say("What do you learn?", "무엇을 공부하나요?"),
            place: [0, 0, 0.34, 0.5],
            content: form([["topic", say("Topic", "주제"), say("Korean, fractions, the cell …", "영어, 분수, 세포 …")], ["level", say("What you know already", "이미 아는 것"), say("The alphabet", "기초")]], "begin-lesson", say("Begin", "시작")),
          },
          {
            id: "study-cards",
            title: say("Cards", "카드"),
            place: [0, 0.5, 0.66, 0.5],
            content: table(ko ? ["앞", "뒤", "상자"] : ["Front", "Back", "Box"], ko ? [["apple", "사과", "1"], ["river", "강", "2"], ["to borrow", "빌리다", "1"]] : [["사과", "apple", "1"], ["강", "river", "2"], ["빌리다", "to borrow", "1"]]),
          },
        ],
      };
  }
}

/** The distance between windows, and from the edges, in px. */
const gap = 12;
/** Icons are at the left edge of the canvas. */
const iconColumn = 116;

/** The bounds of a place on a canvas. */
export function boundsOf([x, y, w, h]: Part["place"], canvas: { w: number; h: number }): Bounds {
  const left = canvas.w > 900 ? iconColumn : gap;
  const [width, height] = [canvas.w - left - gap, canvas.h - 2 * gap];
  return {
    x: Math.round(left + x * width),
    y: Math.round(gap + y * height),
    w: Math.max(160, Math.round(w * width) - (x + w < 0.99 ? gap : 0)),
    h: Math.max(120, Math.round(h * height) - (y + h < 0.99 ? gap : 0)),
  };
}

/** The actions that create the windows of a template. */
export function windowsOf(template: Template, canvas: { w: number; h: number }): Action[] {
  return template.parts.map((p) => ({ type: "window.create", windowId: p.id, title: p.title, bounds: boundsOf(p.place, canvas), content: p.content }));
}
