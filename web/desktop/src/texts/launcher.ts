// The texts of the launcher and of templates, in both languages. They load with that part, after the first paint.

import { catalogue } from "../i18n/texts.js";

export const launcher = catalogue({
  title: ["Apps and templates", "앱과 템플릿"],
  close: ["Close", "닫기"],
  search: ["Search apps and templates", "앱과 템플릿 찾기"],
  yours: ["Your apps", "내 앱"],
  market: ["Ready to install", "설치할 수 있는 앱"],
  templates: ["Templates", "템플릿"],
  blank: ["Start empty", "비어 있는 채로 시작"],
  notebook: ["New notebook", "새 노트북"],
  notebookHint: ["Cells of code that run in Jupyter", "Jupyter에서 실행되는 코드 셀"],
  none: ["Nothing has that name.", "그런 이름은 없어요."],
  noneHint: ["Ask an agent to make it: every app here began that way.", "에이전트에게 만들어 달라고 해 보세요."],
  installOpen: [(name: string) => `Install and open ${name}`, (name) => `설치하고 열기: ${name}`],
  pin: [(name: string) => `Pin ${name} beside the command bar`, (name) => `입력창 옆에 고정: ${name}`],
  unpin: [(name: string) => `Unpin ${name}`, (name) => `고정 해제: ${name}`],
  pinned: ["Pinned apps", "고정한 앱"],
  installing: ["Installing…", "설치하는 중…"],
  notInstalled: ["That app could not be installed. Try again in a moment.", "앱을 설치하지 못했어요. 잠시 뒤 다시 해 주세요."],
  notOpened: ["That could not be opened. Try again in a moment.", "열지 못했어요. 잠시 뒤 다시 해 주세요."],
  reading: ["Looking for apps…", "앱을 찾는 중…"],
  trip: ["Trip planner", "여행 계획"],
  tripHint: ["Itinerary, budget, what to pack", "일정, 예산, 챙길 것"],
  release: ["Release cockpit", "출시 상황판"],
  releaseHint: ["Board, status, risks, checklist", "보드, 현황, 위험, 점검표"],
  data: ["Data desk", "데이터 책상"],
  dataHint: ["Tables, a CSV explorer, questions", "표, CSV 탐색기, 질문"],
  study: ["Study room", "공부방"],
  studyHint: ["Plan, cards, a timer", "계획, 카드, 타이머"],
});
