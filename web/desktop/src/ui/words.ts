import { words } from "../i18n/words.js";

export default words(
  {
    copy: "Copy",
    copied: "Copied",
    notCopied: "The browser did not let us copy. Select the text instead.",
  },
  {
    copy: "복사",
    copied: "복사했어요",
    notCopied: "브라우저가 복사를 막았어요. 글자를 직접 선택해 주세요.",
  },
);
