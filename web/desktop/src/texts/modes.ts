// The texts of modes, in both languages. They load with that part, after the first paint.

import { catalogue } from "../i18n/texts.js";

export const modes = catalogue({
  title: ["Modes and instructions", "모드와 지침"],
  close: ["Close", "닫기"],
  reading: ["Reading your modes…", "모드를 불러오는 중…"],
  failed: [(reason: string) => `That did not work: ${reason}`, (reason) => `잘 안 됐어요: ${reason}`],
  again: ["Try again", "다시 시도"],

  yours: ["Modes", "모드"],
  lead: ["A mode says how agents work. A change counts from their next turn on.", "모드는 에이전트가 일하는 방식을 정해요. 바꾸면 다음 차례부터 적용돼요."],
  inUse: ["in this session", "이 세션에서 사용 중"],
  shipped: ["of the hub", "허브 제공"],
  overridden: ["of the hub, changed by you", "허브 제공, 내가 바꿈"],
  add: ["New mode", "새 모드"],
  use: ["Use here", "여기서 사용"],
  useOf: [(name: string) => `Use here: ${name}`, (name) => `여기서 사용: ${name}`],
  editOf: [(name: string) => `Change ${name}`, (name) => `바꾸기: ${name}`],
  removeOf: [(name: string) => `Delete ${name}`, (name) => `삭제: ${name}`],
  revertOf: [(name: string) => `Undo your changes of ${name}`, (name) => `바꾼 내용 되돌리기: ${name}`],
  removeAsk: ["Delete this mode? Sessions that have chosen it keep it until they choose another.", "이 모드를 삭제할까요? 이미 고른 세션은 다른 모드를 고를 때까지 그대로 써요."],
  revertAsk: ["Undo all your changes of this mode?", "이 모드에서 바꾼 내용을 모두 되돌릴까요?"],
  remove: ["Delete", "삭제"],
  revert: ["Undo changes", "되돌리기"],
  cancel: ["Cancel", "취소"],
  conflictList: ["Your modes were changed in another tab. Look at the list, then press it again.", "다른 탭에서 모드가 바뀌었어요. 목록을 확인하고 다시 눌러 주세요."],

  edit: [(name: string) => `Change the mode ${name}`, (name) => `모드 바꾸기: ${name}`],
  name: ["Name", "이름"],
  instructions: ["Instructions for agents", "에이전트 지침"],
  tooLong: ["This is too long: at most 16 KiB.", "너무 길어요. 16KiB까지 쓸 수 있어요."],
  tools: ["Tools", "도구"],
  model: ["Model", "모델"],
  modelSession: ["That of the session", "세션의 모델"],
  modelMissing: [(name: string) => `${name} (not there; the default is used)`, (name) => `${name} (없음, 기본 모델 사용)`],
  ownRules: ["Own rules for what agents may do alone", "에이전트가 혼자 해도 되는 일을 따로 정하기"],
  ownRulesHint: ["Otherwise those of the session count.", "끄면 세션의 규칙이 적용돼요."],
  save: ["Save", "저장"],
  saving: ["Saving…", "저장하는 중…"],
  conflict: [
    "This mode was changed in another tab. Save again to replace that; what you typed is still here.",
    "다른 탭에서 이 모드가 바뀌었어요. 다시 저장하면 그 내용을 덮어써요. 입력한 내용은 그대로 있어요.",
  ],
  conflictNew: [
    "Your modes were changed in another tab. Save again; what you typed is still here.",
    "다른 탭에서 모드가 바뀌었어요. 다시 저장해 주세요. 입력한 내용은 그대로 있어요.",
  ],

  session: ["Instructions of this session", "이 세션의 지침"],
  sessionHint: ["For agents in every mode. All who see the session can read them.", "모든 모드의 에이전트에게 적용돼요. 세션을 보는 사람은 모두 읽을 수 있어요."],
  sessionOthers: ["Only the owner of the session can change them.", "세션 소유자만 바꿀 수 있어요."],
  sessionNone: ["There are none.", "아직 없어요."],
  elsewhere: ["They were changed in another tab.", "다른 탭에서 바뀌었어요."],
  reload: ["Show those", "바뀐 지침 보기"],
  full: ["Not saved: too many messages have no answer yet", "저장하지 못했어요. 아직 응답이 없는 메시지가 너무 많아요"],
  saved: ["Saved.", "저장했어요."],
  late: ["The hub has not confirmed it yet.", "아직 허브가 확인하지 않았어요."],
});

/** The MCP servers of the operator and of the user. */
