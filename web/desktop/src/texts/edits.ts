// The texts of checklists, boards and the editing of tables, in both languages.

import { catalogue } from "../i18n/texts.js";

export const edits = catalogue({
  changed: ["This was changed by someone else in the meantime. Look at it and try again.", "그사이 다른 사람이나 에이전트가 바꿨어요. 확인하고 다시 시도해 주세요."],
  notSaved: [(why: string) => `Your change was not saved: ${why}`, (why) => `변경 내용을 저장하지 못했어요: ${why}`],
  notPossible: ["That is not possible here: the text is empty or too long, or the list is full.", "여기서는 할 수 없어요. 글이 비었거나 너무 길거나, 목록이 가득 찼어요."],
  tooMuch: ["Too much is unanswered. Try again in a moment.", "아직 답을 기다리는 요청이 많아요. 잠시 뒤에 다시 시도해 주세요."],
  checklist: ["Checklist", "체크리스트"],
  progress: [(done: string, all: string) => `${done} of ${all} done`, (done, all) => `${all}개 중 ${done}개 완료`],
  addItem: ["Add an item", "항목 추가"],
  rename: ["Rename", "이름 바꾸기"],
  remove: ["Delete", "삭제"],
  renameOf: [(text: string) => `Rename: ${text}`, (text) => `이름 바꾸기: ${text}`],
  removeOf: [(text: string) => `Delete: ${text}`, (text) => `삭제: ${text}`],
  itemKeys: ["Alt+↑ and Alt+↓ move, F2 renames, Delete deletes", "Alt+↑, Alt+↓ 이동, F2 이름 바꾸기, Delete 삭제"],
  newText: ["New text", "새 글"],
  empty: ["Nothing here yet.", "아직 아무것도 없어요."],
  board: ["Board", "보드"],
  columnOf: [(title: string, n: string) => `${title}, cards: ${n}`, (title, n) => `${title}, 카드 ${n}개`],
  untitled: ["Untitled", "제목 없음"],
  addCard: ["Add a card", "카드 추가"],
  addCardTo: [(title: string) => `Add a card to ${title}`, (title) => `카드 추가: ${title}`],
  cardMenu: [(text: string) => `Actions of ${text}`, (text) => `카드 작업: ${text}`],
  moveTo: [(title: string) => `Move to ${title}`, (title) => `옮기기: ${title}`],
  cardKeys: ["Arrow keys choose, Shift and an arrow key move the card, F2 renames, Delete deletes", "화살표로 고르고 Shift+화살표로 옮겨요. F2 이름 바꾸기, Delete 삭제"],
  movedTo: [(text: string, title: string) => `${text}: moved to ${title}`, (text, title) => `옮겼어요: ${text} → ${title}`],
  editCell: [(column: string, row: string) => `${column}, row ${row}`, (column, row) => `${row}행, ${column}`],
  addRow: ["Add a row", "행 추가"],
  removeRowOf: [(row: string) => `Delete row ${row}`, (row) => `${row}행 삭제`],
  cellKeys: ["Enter or a double click edits a cell, Escape cancels, the arrow keys choose, Shift+Delete deletes the row", "Enter나 두 번 클릭으로 칸을 고치고 Escape로 취소해요. 화살표로 고르고 Shift+Delete로 행을 지워요"],
});
