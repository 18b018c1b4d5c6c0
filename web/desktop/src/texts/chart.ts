// The texts of charts, in both languages. They load with the first chart.

import { catalogue } from "../i18n/texts.js";

export const chart = catalogue({
  chart: ["chart", "차트"],
  line: ["Line chart", "선 차트"],
  bar: ["Bar chart", "막대 차트"],
  area: ["Area chart", "영역 차트"],
  pie: ["Pie chart", "원 차트"],
  scatter: ["Scatter chart", "산점도"],
  named: [(kind: string, title: string) => `${kind}: ${title}. Arrow keys read its values.`, (kind, title) => `${kind}: ${title}. 화살표 키로 값을 읽을 수 있어요.`],
  series: [(n: number) => `Series ${n}`, (n) => `계열 ${n}`],
  label: ["Label", "항목"],
  legend: ["Legend", "범례"],
  show: [(name: string) => `Show ${name}`, (name) => `보이기: ${name}`],
  hide: [(name: string) => `Hide ${name}`, (name) => `숨기기: ${name}`],
  asTable: ["Show the numbers", "숫자로 보기"],
  asChart: ["Show the chart", "차트로 보기"],
  empty: ["This chart has no data.", "차트에 데이터가 없어요."],
});
