import { words } from "./i18n/words.js";

export default words(
  {
    connecting: "Opening your desktop…",
    failed: "This desktop cannot be opened.",
    retry: "Try again",
    others: "Your sessions",
    broken: "Something on this page broke. Your session is safe in the hub.",
    reload: "Load the page again",
    canvas: "Windows",
    conversation: "Conversation",
    dock: "Command bar and agents",
    top: "Session and monitors",
  },
  {
    connecting: "데스크톱을 여는 중…",
    failed: "이 데스크톱을 열 수 없어요.",
    retry: "다시 시도",
    others: "내 세션",
    broken: "이 페이지에 문제가 생겼어요. 세션은 허브에 안전하게 있어요.",
    reload: "페이지 새로고침",
    canvas: "창",
    conversation: "대화",
    dock: "명령 줄과 에이전트",
    top: "세션과 모니터",
  },
);
