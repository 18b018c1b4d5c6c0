// The texts of desktop icons, in both languages. They load with that part, after the first paint.

import { catalogue } from "../i18n/texts.js";

export const icons = catalogue({
  menu: [(label: string) => `Menu of ${label}`, (label) => `아이콘 메뉴: ${label}`],
  open: ["Open", "열기"],
  rename: ["Rename…", "이름 바꾸기…"],
  remove: ["Remove…", "제거…"],
  renameTitle: ["Rename the icon", "아이콘 이름 바꾸기"],
  name: ["Name", "이름"],
  save: ["Rename", "바꾸기"],
  removeTitle: ["Remove the icon?", "아이콘을 제거할까요?"],
  removeText: [
    (label: string) => `“${label}” disappears from this desktop, for everybody who sees it. What it opens stays.`,
    (label) => `“${label}” 아이콘이 이 데스크톱을 보는 모두에게서 사라져요. 여는 대상은 그대로 남아요.`,
  ],
  removeNow: ["Remove", "제거"],
  cancel: ["Cancel", "취소"],
  close: ["Close", "닫기"],
});
