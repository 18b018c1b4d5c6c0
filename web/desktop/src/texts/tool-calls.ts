// What tools did, in both languages. They load with that part, after the first paint.

import { catalogue } from "../i18n/texts.js";

/** Puts an action into words: on the named object if there is one, on n objects otherwise. `base` is for actions that failed. */
type Phrase = (n: number, what: string, base?: boolean) => string;

/**
 * A phrase from its verb, in the past and the base form, and its objects: named (%), one of them, and several (#). An
 * object that is missing is that of the next form.
 */
function phrase(verbs: string, named: string, one = named, many = one): Phrase {
  const [past = "", base = past] = verbs.split("|");
  return (n, what, asBase = false) => {
    const form = n > 1 ? many : what === "" ? one : named;
    const object = form.replace(/[%#]/g, (mark) => (mark === "#" ? String(n) : what));
    return `${asBase ? base : past} ${object}`.trim();
  };
}

export const toolCalls = catalogue({
  opened: [phrase("Opened|Open", "“%”", "a window", "# windows"), phrase("", "“%” 열기", "창 열기", "창 #개 열기")],
  updated: [phrase("Updated|Update", "“%”", "a window", "# windows"), phrase("", "“%” 업데이트", "창 업데이트", "창 #개 업데이트")],
  closed: [phrase("Closed|Close", "“%”", "a window", "# windows"), phrase("", "“%” 닫기", "창 닫기", "창 #개 닫기")],
  locked: [phrase("Locked|Lock", "“%”", "a window", "# windows"), phrase("", "“%” 잠금", "창 잠금", "창 #개 잠금")],
  unlocked: [phrase("Unlocked|Unlock", "“%”", "a window", "# windows"), phrase("", "“%” 잠금 해제", "창 잠금 해제", "창 #개 잠금 해제")],
  saw: [phrase("Looked at|Look at", "“%”", "a window", "# windows"), phrase("", "“%” 살펴보기", "창 살펴보기", "창 #개 살펴보기")],
  listed: [phrase("Looked through|Look through", "the windows"), phrase("", "창 목록 확인")],
  told: [phrase("Showed|Show", "a notice: %", "a notice", "# notices"), phrase("", "알림 표시: %", "알림 표시", "알림 #개 표시")],
  untold: [phrase("Removed|Remove", "a notice", "a notice", "# notices"), phrase("", "알림 지우기", "알림 지우기", "알림 #개 지우기")],
  queried: [phrase("Asked|Ask", "“%”", "an app", "# apps"), phrase("", "“%”에서 조회", "앱에서 조회", "앱 #개에서 조회")],
  commanded: [phrase("Used|Use", "“%”", "an app", "# apps"), phrase("", "“%” 조작", "앱 조작", "앱 #개 조작")],
  task: [phrase("Gave|Give", "a task: %", "a task", "# tasks"), phrase("", "작업 맡기기: %", "작업 맡기기", "작업 #개 맡기기")],
  progress: [phrase("Reported|Report", "progress"), phrase("", "진행 상황 알림")],
  asked: [phrase("Asked|Ask", "you: %", "you", "you # questions"), phrase("", "질문: %", "질문하기", "질문 #개")],
  read: [phrase("Read", "%", "a file", "# files"), phrase("", "% 읽기", "파일 읽기", "파일 #개 읽기")],
  saved: [phrase("Saved|Save", "%", "a file", "# files"), phrase("", "% 저장", "파일 저장", "파일 #개 저장")],
  deleted: [phrase("Deleted|Delete", "%", "a file", "# files"), phrase("", "% 삭제", "파일 삭제", "파일 #개 삭제")],
  listedFiles: [phrase("Looked through|Look through", "the files"), phrase("", "파일 목록 확인")],
  searchedFiles: [phrase("Searched|Search", "the files for %", "the files", "the files # times"), phrase("", "파일에서 검색: %", "파일 검색", "파일 #번 검색")],
  patched: [phrase("Changed|Change", "files", "files", "files # times"), phrase("", "파일 수정", "파일 수정", "파일 #번 수정")],
  ranCommand: [phrase("Ran|Run", "a command: %", "a command", "# commands"), phrase("", "명령 실행: %", "명령 실행", "명령 #개 실행")],
  todos: [phrase("Updated|Update", "the list of tasks"), phrase("", "할 일 목록 정리")],
  looked: [phrase("Looked at|Look at", "the desktop"), phrase("", "데스크톱 확인")],
  guide: [phrase("Read", "a guide: %", "a guide", "# guides"), phrase("", "안내 읽기: %", "안내 읽기", "안내 #개 읽기")],
  fetched: [phrase("Read", "%", "a web page", "# web pages"), phrase("", "% 읽기", "웹 페이지 읽기", "웹 페이지 #개 읽기")],
  searchedWeb: [phrase("Searched|Search", "the web for %", "the web", "the web # times"), phrase("", "웹 검색: %", "웹 검색", "웹 #번 검색")],
  posted: [phrase("Sent|Send", "data to %", "data to a server", "data to # servers"), phrase("", "% 서버에 데이터 보내기", "서버에 데이터 보내기", "서버 #곳에 데이터 보내기")],
  domain: [phrase("Asked|Ask", "to allow %", "to allow a domain", "to allow # domains"), phrase("", "도메인 허용 요청: %", "도메인 허용 요청", "도메인 #개 허용 요청")],
  page: [phrase("Opened|Open", "%", "a web page", "# web pages"), phrase("", "% 열기", "웹 페이지 열기", "웹 페이지 #개 열기")],
  clicked: [phrase("Clicked|Click", "on a web page", "on a web page", "# times on web pages"), phrase("", "웹 페이지 클릭", "웹 페이지 클릭", "웹 페이지 #번 클릭")],
  typed: [phrase("Typed|Type", "on a web page", "on a web page", "# times on web pages"), phrase("", "웹 페이지에 입력", "웹 페이지에 입력", "웹 페이지에 #번 입력")],
  pressed: [phrase("Pressed|Press", "a key on a web page", "a key on a web page", "# keys on web pages"), phrase("", "웹 페이지에서 키 누르기", "웹 페이지에서 키 누르기", "웹 페이지에서 키 #번 누르기")],
  scrolled: [phrase("Scrolled|Scroll", "a web page", "a web page", "web pages # times"), phrase("", "웹 페이지 스크롤", "웹 페이지 스크롤", "웹 페이지 #번 스크롤")],
  shot: [phrase("Looked at|Look at", "a web page", "a web page", "web pages # times"), phrase("", "웹 페이지 살펴보기", "웹 페이지 살펴보기", "웹 페이지 #번 살펴보기")],
  closedBrowser: [phrase("Closed|Close", "the browser"), phrase("", "브라우저 닫기")],
  notebook: [phrase("Opened|Open", "“%”", "a notebook", "# notebooks"), phrase("", "“%” 열기", "노트북 열기", "노트북 #개 열기")],
  notebookRead: [phrase("Read", "“%”", "a notebook", "# notebooks"), phrase("", "“%” 읽기", "노트북 읽기", "노트북 #개 읽기")],
  notebooks: [phrase("Looked through|Look through", "the notebooks"), phrase("", "노트북 목록 확인")],
  ranCell: [phrase("Ran|Run", "code in a notebook", "code in a notebook", "code # times in notebooks"), phrase("", "노트북 코드 실행", "노트북 코드 실행", "노트북 코드 #번 실행")],
  cellAdded: [phrase("Added|Add", "a cell", "a cell", "# cells"), phrase("", "셀 추가", "셀 추가", "셀 #개 추가")],
  cellChanged: [phrase("Changed|Change", "a cell", "a cell", "# cells"), phrase("", "셀 수정", "셀 수정", "셀 #번 수정")],
  cellDeleted: [phrase("Deleted|Delete", "a cell", "a cell", "# cells"), phrase("", "셀 삭제", "셀 삭제", "셀 #개 삭제")],
  stoppedCode: [phrase("Stopped|Stop", "running code"), phrase("", "실행 중인 코드 중지")],
  restarted: [phrase("Restarted|Restart", "a kernel"), phrase("", "커널 다시 시작")],
  completedCode: [phrase("Looked up|Look up", "how code goes on"), phrase("", "코드 자동 완성 확인")],
  ranScript: [phrase("Ran|Run", "a script", "a script", "# scripts"), phrase("", "스크립트 실행", "스크립트 실행", "스크립트 #개 실행")],
  variable: [phrase("Read", "the variable %", "a variable", "# variables"), phrase("", "변수 읽기: %", "변수 읽기", "변수 #개 읽기")],
  iconAdded: [phrase("Added|Add", "the icon “%”", "an icon", "# icons"), phrase("", "“%” 아이콘 추가", "아이콘 추가", "아이콘 #개 추가")],
  iconChanged: [phrase("Changed|Change", "an icon", "an icon", "# icons"), phrase("", "아이콘 변경", "아이콘 변경", "아이콘 #번 변경")],
  iconRemoved: [phrase("Removed|Remove", "an icon", "an icon", "# icons"), phrase("", "아이콘 제거", "아이콘 제거", "아이콘 #개 제거")],
  icons: [phrase("Looked through|Look through", "the icons"), phrase("", "아이콘 목록 확인")],
  remembered: [phrase("Remembered|Remember", "this: %", "something", "# things"), phrase("", "기억함: %", "기억하기", "#가지 기억하기")],
  memories: [phrase("Looked through|Look through", "what is remembered"), phrase("", "기억한 내용 확인")],
  forgot: [phrase("Forgot|Forget", "something", "something", "# things"), phrase("", "기억 지우기", "기억 지우기", "기억 #개 지우기")],
  configured: [phrase("Changed|Change", "settings"), phrase("", "설정 변경")],
  sawConfig: [phrase("Looked at|Look at", "the settings"), phrase("", "설정 확인")],
  unconfigured: [phrase("Removed|Remove", "a setting", "a setting", "# settings"), phrase("", "설정 제거", "설정 제거", "설정 #개 제거")],
  again: [phrase("Did|Do", "something again", "something again", "# things again"), phrase("", "이전 작업 반복", "이전 작업 반복", "이전 작업 #개 반복")],
  repeatables: [phrase("Looked up|Look up", "what can be done again"), phrase("", "반복할 수 있는 작업 확인")],
  apps: [phrase("Looked through|Look through", "the apps"), phrase("", "앱 목록 확인")],
  appData: [phrase("Read", "the data of %", "the data of an app", "the data of # apps"), phrase("", "앱 데이터 읽기: %", "앱 데이터 읽기", "앱 #개의 데이터 읽기")],
  appDataSaved: [phrase("Saved|Save", "the data of %", "the data of an app", "the data of # apps"), phrase("", "앱 데이터 저장: %", "앱 데이터 저장", "앱 #개의 데이터 저장")],
  badge: [phrase("Showed|Show", "a count on an icon", "a count on an icon", "counts on # icons"), phrase("", "아이콘에 숫자 표시", "아이콘에 숫자 표시", "아이콘 #개에 숫자 표시")],
  market: [phrase("Looked through|Look through", "the apps that can be installed"), phrase("", "설치할 수 있는 앱 확인")],
  installed: [phrase("Installed|Install", "the app %", "an app", "# apps"), phrase("", "앱 설치: %", "앱 설치", "앱 #개 설치")],
  uninstalled: [phrase("Deleted|Delete", "the app %", "an app", "# apps"), phrase("", "앱 삭제: %", "앱 삭제", "앱 #개 삭제")],
  sourceRead: [phrase("Read", "%", "the source of an app", "# source files"), phrase("", "% 읽기", "앱 소스 읽기", "소스 파일 #개 읽기")],
  sourceWritten: [phrase("Wrote|Write", "%", "the source of an app", "# source files"), phrase("", "% 작성", "앱 소스 작성", "소스 파일 #개 작성")],
  compiled: [phrase("Built|Build", "an app"), phrase("", "앱 빌드")],
  checked: [phrase("Checked|Check", "the source of an app"), phrase("", "앱 소스 검사")],
  deployed: [phrase("Put", "the app % on the desktop", "an app on the desktop", "# apps on the desktop"), phrase("", "앱 배포: %", "앱 배포", "앱 #개 배포")],
  copied: [phrase("Copied|Copy", "the source of an app"), phrase("", "앱 소스 복사")],
  used: [phrase("Used|Use", "“%”", "a tool", "# tools"), phrase("", "“%” 사용", "도구 사용", "도구 #개 사용")],
  times: [(text: string, n: number) => `${text} ${n} times`, (text, n) => `${text} ${n}회`],
});
