// The texts of the panel that shares a session, in both languages. They load with that part, after the first paint.

import { catalogue } from "../i18n/texts.js";

export const share = catalogue({
  title: ["Share this session", "이 세션 공유"],
  close: ["Close", "닫기"],
  people: ["People with access", "함께 쓰는 사람"],
  owner: ["Owner", "소유자"],
  viewer: ["Can look", "보기만 가능"],
  operator: ["Can work", "함께 작업 가능"],
  viewerHint: ["They see everything as it happens and change nothing.", "모든 것을 실시간으로 보지만 바꾸지는 못해요."],
  operatorHint: ["They also ask, answer and move windows, as you do.", "나처럼 부탁하고, 답하고, 창을 옮길 수 있어요."],
  you: ["(you)", "(나)"],
  here: ["here now", "지금 여기"],
  user: ["Name of the user", "사용자 이름"],
  access: ["Access", "권한"],
  accessOf: [(user: string) => `Access of ${user}`, (user) => `권한: ${user}`],
  invite: ["Invite", "초대"],
  remove: [(user: string) => `Stop sharing with ${user}`, (user) => `공유 해제: ${user}`],
  ownerOnly: ["Only the owner invites others.", "초대는 소유자만 할 수 있어요."],
  linkHint: ["Send this address to the people you invited:", "초대한 사람에게 이 주소를 보내세요."],
  copyLink: ["Copy the address", "주소 복사"],
  failed: [(reason: string) => `That did not work: ${reason}`, (reason) => `잘 안 됐어요: ${reason}`],
  again: ["Try again", "다시 시도"],
});
