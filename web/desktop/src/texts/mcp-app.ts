// The texts of windows with views of MCP servers, in both languages.

import { catalogue } from "../i18n/texts.js";

export const mcpApp = catalogue({
  loading: ["Opening the view…", "화면을 여는 중…"],
  failed: ["The view of the MCP server cannot be shown", "MCP 서버의 화면을 보여 드릴 수 없어요"],
  messageTitle: ["Send this as your message?", "이 글을 내 메시지로 보낼까요?"],
  messageText: [
    (server: string) => `A window of the MCP server “${server}” wrote it. Agents read it as coming from there.`,
    (server) => `MCP 서버의 창이 쓴 글이에요 (${server}). 에이전트는 거기서 온 글로 읽어요.`,
  ],
  send: ["Send", "보내기"],
  cancel: ["Cancel", "취소"],
  close: ["Close", "닫기"],
  elsewhere: ["In use in another tab", "다른 탭에서 쓰고 있어요"],
  elsewhereText: ["The window keeps its state where it is used. Here it begins again from the result of the call.", "창의 상태는 쓰고 있는 탭에 있어요. 여기서는 호출 결과부터 다시 시작해요."],
  useHere: ["Use it here", "여기서 쓰기"],
});
