// The texts of the folder in which agents work, in both languages. They load with that part, after the first paint.

import { catalogue } from "../i18n/texts.js";

export const workspace = catalogue({
  title: ["Folder of this session", "이 세션의 작업 폴더"],
  hint: [
    "Agents that are programs, such as Claude Code and Codex, work in it from their next turn on. Saved states of the session have its files, too.",
    "Claude Code와 Codex처럼 프로그램으로 실행되는 에이전트가 다음 차례부터 이 폴더에서 일해요. 저장된 상태에도 이 폴더의 파일이 들어가요.",
  ],
  invalid: ["This folder is not allowed or does not exist any more. Such agents fail until you choose another one.", "이 폴더는 더 이상 허용되지 않거나 없어졌어요. 다른 폴더를 고를 때까지 에이전트가 일할 수 없어요."],
  placeholder: ["A folder of its own", "세션만의 폴더"],
  save: ["Choose", "선택"],
  saved: ["Chosen.", "선택했어요."],
  instructions: ["AGENTS.md, which all agents of this session get", "이 세션의 모든 에이전트가 받는 AGENTS.md"],
  instructionsCut: ["The beginning of AGENTS.md, which all agents of this session get", "이 세션의 모든 에이전트가 받는 AGENTS.md의 앞부분"],
  skills: [(n: number) => (n === 1 ? "1 guide, which agents can read" : `${n} guides, which agents can read`), (n) => `에이전트가 읽을 수 있는 안내서 ${n}개`],
  unusable: [(reason: string) => `Some files for agents are not used: ${reason}`, (reason) => `쓸 수 없는 에이전트용 파일이 있어요: ${reason}`],
  failed: [(reason: string) => `That did not work: ${reason}`, (reason) => `잘 안 됐어요: ${reason}`],
});
