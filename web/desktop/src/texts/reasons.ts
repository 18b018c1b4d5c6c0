// The texts of why a turn ended, in both languages. They load with that part, after the first paint.

import { catalogue } from "../i18n/texts.js";

export const reasons = catalogue({
  interrupted: ["It was stopped.", "중지됐어요."],
  parentEnded: ["The work it was for has ended.", "맡긴 작업이 먼저 끝났어요."],
  parentCut: ["The work it was for was cut off.", "맡긴 작업이 도중에 끊겼어요."],
  parentInterrupted: ["The work it was for was stopped.", "맡긴 작업이 중지됐어요."],
  windowClosed: ["Its window was closed.", "창이 닫혔어요."],
  reset: ["The desktop was reset.", "데스크톱이 초기화됐어요."],
  monitorRemoved: ["Its monitor was closed.", "모니터가 닫혔어요."],
  unknownState: ["It is not known well enough how far it came.", "어디까지 진행됐는지 확실하지 않아요."],
  tooLarge: ["It is too large to be kept.", "내용이 너무 커서 저장할 수 없어요."],
  queueFull: ["Too much is waiting already.", "이미 대기 중인 것이 너무 많아요."],
  noAgent: ["No model is connected.", "연결된 모델이 없어요."],
  deleted: ["The session was deleted.", "세션이 삭제됐어요."],
  rewound: ["The conversation was rewound.", "대화를 되감았어요."],
  lostSlot: ["Too many agents work at the same time.", "동시에 일하는 에이전트가 너무 많아요."],
  toolMayHaveRun: [(tool: string) => `It is unknown whether ${tool} ran.`, (tool) => `실행됐는지 확인할 수 없어요: ${tool}`],
  overBudget: ["The monitor has used up its budget.", "모니터의 예산을 모두 썼어요."],
  cutOften: ["It was cut off too often.", "너무 여러 번 끊겼어요."],
  auth: ["The model does not accept the key.", "모델이 키를 받아들이지 않아요."],
  rate: ["The model gets too many requests.", "모델에 보낸 요청이 너무 많아요."],
  overloaded: ["The model has too much to do.", "모델에 요청이 몰려 있어요."],
  transport: ["The model cannot be reached.", "모델에 연결할 수 없어요."],
  contextLength: ["The conversation is too long for the model.", "대화가 모델이 다룰 수 있는 길이를 넘었어요."],
  refused: ["The model refused.", "모델이 거절했어요."],
  invalid: ["The model could not work with the request.", "모델이 요청을 처리하지 못했어요."],
});
