// The texts about slash commands, in both languages. They load with the list of commands, after the first paint.

import { catalogue } from "../i18n/texts.js";

export const slash = catalogue({
  slashPlan: ["Plan what follows; alone it shows the plan", "뒤에 적은 일을 계획해요. 혼자 쓰면 계획을 보여 줘요"],
  slashStop: ["Stop the agent here; “all” stops every agent", "이 모니터의 에이전트 중지, “all” 입력 시 모두 중지"],
  slashCondense: ["Sum up what was said, so that the model has room again", "지금까지의 대화를 요약해 모델의 자리 비우기"],
  slashReset: ["Close all windows and forget all conversations", "모든 창을 닫고 모든 대화를 지워요"],
  slashNew: ["Begin a new session", "새 세션 시작"],
  slashMonitor: ["Go to a monitor, or add it", "모니터로 이동하거나 새로 추가"],
  slashProvider: ["Choose who answers", "답변할 모델 제공자 선택"],
  slashMode: ["Choose how agents work", "에이전트가 일하는 방식 선택"],
  slashTheme: ["Change the look", "화면 테마 변경"],
  slashLanguage: ["Change the language", "언어 변경"],
  slashSessions: ["Show your sessions", "내 세션 보기"],
  slashConnect: ["Connect a model", "모델 연결"],
  slashHelp: ["Show shortcuts and help", "단축키와 도움말 보기"],
  resetTitle: ["Start over?", "처음부터 다시 시작할까요?"],
  resetText: [
    "This closes all windows on all monitors, stops all agents and forgets all conversations of this session. It cannot be undone.",
    "모든 모니터의 창이 닫히고, 모든 에이전트가 멈추고, 이 세션의 대화가 모두 지워져요. 되돌릴 수 없어요.",
  ],
  resetDo: ["Close and forget everything", "모두 닫고 지우기"],
  cancel: ["Cancel", "취소"],
  close: ["Close", "닫기"],
});
