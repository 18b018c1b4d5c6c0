import { words } from "../i18n/words.js";

export default words(
  {
    full: "Too much is still on its way. Wait until the hub has answered, then try again.",
    later: "There is no connection. This waits until there is one again.",
    gone: "This session is gone. Nothing can be done in it any more.",
  },
  {
    full: "아직 보내는 중인 것이 너무 많아요. 허브가 답한 뒤에 다시 시도해 주세요.",
    later: "연결이 끊겨 있어요. 다시 연결될 때까지 기다릴게요.",
    gone: "이 세션은 이제 없어요. 여기서는 아무것도 할 수 없어요.",
  },
);
