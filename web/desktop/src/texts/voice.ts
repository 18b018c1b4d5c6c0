// The texts of dictation, in both languages. They load with that part, if the browser can do it.

import { catalogue } from "../i18n/texts.js";

export const voice = catalogue({
  start: ["Dictate", "말로 입력하기"],
  stop: ["Stop dictating (Esc)", "말로 입력하기 끝내기 (Esc)"],
  listening: ["Listening. Nothing is sent by itself.", "듣고 있어요. 저절로 보내지는 않아요."],
  denied: ["The browser does not let this page use the microphone.", "브라우저가 이 페이지에서 마이크를 쓰지 못하게 했어요."],
  failed: ["The browser could not recognise speech.", "브라우저가 말을 알아듣지 못했어요."],
});
