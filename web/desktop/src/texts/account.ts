// The texts of the account, in both languages. They load with that part, after the first paint.

import { catalogue } from "../i18n/texts.js";

export const account = catalogue({
  title: ["Settings of your account", "계정 설정"],
  hint: ["They are the same in all your browsers. Each one is saved on its own.", "모든 브라우저에서 같아요. 항목마다 따로 저장돼요."],
  reading: ["Reading your settings…", "설정을 불러오는 중…"],
  failed: [(reason: string) => `That did not work: ${reason}`, (reason) => `잘 안 됐어요: ${reason}`],
  again: ["Try again", "다시 시도"],
  save: ["Save", "저장"],
  saveOf: [(name: string) => `Save ${name}`, (name) => `저장: ${name}`],
  saving: ["Saving…", "저장 중…"],
  reset: ["Default", "기본값"],
  resetOf: [(name: string) => `Return to the default: ${name}`, (name) => `기본값으로 되돌리기: ${name}`],
  pinned: ["set by the operator", "운영자가 정함"],
  byAdmin: ["only an administrator changes it", "관리자만 바꿀 수 있음"],
  ofHub: ["the same for all users", "모든 사용자에게 같음"],
  conflict: [
    (now: string) => `It was changed in another tab and is now “${now}”. What you typed is still here; save it again to replace that.`,
    (now) => `다른 탭에서 바뀌었어요. 지금 값: “${now}”. 입력한 내용은 그대로 있어요. 다시 저장하면 바뀌어요.`,
  ],
  invalid: [(detail: string) => `One saved setting cannot be read, so the default applies: ${detail}`, (detail) => `저장된 설정 하나를 읽을 수 없어 기본값을 써요: ${detail}`],
  wantNumber: ["Enter a number.", "숫자를 입력해 주세요."],
  wantWhole: ["Enter a whole number.", "정수를 입력해 주세요."],
  wantRange: [(min: string, max: string) => `Enter a number from ${min} to ${max}.`, (min, max) => `${min}–${max} 범위의 숫자를 입력해 주세요.`],
  wantMore: [(min: string) => `Enter at least ${min} characters.`, (min) => `${min}자 이상 입력해 주세요.`],
  wantLess: [(max: string) => `Enter at most ${max} characters.`, (max) => `${max}자까지만 입력해 주세요.`],
  wantMoreItems: [(min: string) => `Enter at least ${min} lines.`, (min) => `${min}줄 이상 입력해 주세요.`],
  wantFewerItems: [(max: string) => `Enter at most ${max} lines.`, (max) => `${max}줄까지만 입력해 주세요.`],

  language: ["Language for agents", "에이전트 언어"],
  languageDoc: ["A tag such as en or ko. The language of this page is above.", "en, ko 같은 태그예요. 이 화면의 언어는 위에서 골라요."],
  onboarding: ["Introduction seen", "소개 봤음"],
  onboardingDoc: ["Whether desktops leave out the introduction.", "데스크톱에서 소개를 건너뛸지 정해요."],
  userName: ["Your name", "내 이름"],
  userNameDoc: ["The name to show for you.", "나를 나타내는 이름이에요."],
  iconSize: ["Icon size", "아이콘 크기"],
  iconSizeDoc: ["Such as small, medium or large.", "small, medium, large 등이에요."],
  instructions: ["Instructions for agents", "에이전트 지침"],
  instructionsDoc: ["The agents of all your sessions get them; guests do not.", "내 모든 세션의 에이전트가 받아요. 손님은 받지 않아요."],
});
