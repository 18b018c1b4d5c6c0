import { expect, test } from "vitest";
import { consequenceOf, titleOf } from "../../src/asks/facts.js";
import { translateHubQuestion } from "../../src/asks/hub-questions.js";
import type { Ask } from "../../src/asks/order.js";
import { asks } from "../../src/texts/asks.js";

const english = /[A-Za-z]{3,} [A-Za-z]{3,}/;

// The sentences of tools/*.go and session/command_question_rows.go.
test.each([
  ["app_delete", "Delete an app?", "노트 (notes-1) and its data would be gone, on all your desktops.", "앱을 삭제할까요? “노트”", ""],
  ["config_hook", "Add a hook?", '"인사" would run whenever a desktop starts:\n{"a":1}', "자동 실행을 추가할까요?", '"인사"\n{"a":1}'],
  ["config_hook", "Add a hook?", '"인사" would run whenever an agent uses a tool:\n{}', "자동 실행을 추가할까요?", '"인사"\n{}'],
  ["config_hook", "Add a hook?", '"인사" would run whenever an agent uses [web_fetch]:\n{}', "자동 실행을 추가할까요?", '"인사"\n{}'],
  ["config_hook", "Remove a hook?", '"인사" (h-1) will not run any more.', "자동 실행을 없앨까요?", '"인사"'],
  ["config_hook", "Forget a decision?", 'You will be asked again about "config_hook:launch".', "기억한 결정을 지울까요?", '"config_hook:launch"'],
  ["http_domain", "Allow a.example?", "Agents could read pages of a.example and send data there, on all your desktops, until you remove it.", "이 사이트를 허용할까요? “a.example”", ""],
  ["http_domain", "Allow a.example?", "Agents could read pages of a.example and send data there, on all your desktops, until you remove it.\nThe agent says why: 날씨", "이 사이트를 허용할까요? “a.example”", "에이전트가 말한 이유: 날씨"],
  ["notebook:run_cell", "Run code in 분석?", "print(1)", "노트북에서 코드를 실행할까요? “분석”", "print(1)"],
  ["mail__send", "Use send of the MCP server mail?", '{"to":"b"}', "MCP 서버의 도구를 쓸까요? “send” · “mail”", '{"to":"b"}'],
  ["map__show", "Let a window use show of the MCP server map?", "It can use it until it is closed, without asking again. It begins with this input:\n{}", "창이 MCP 서버의 도구를 쓰게 할까요? “show” · “map”", "{}"],
  ["files:list", "Go on?", "The agents have made the 20 requests that they may make without asking.", "계속할까요?", ""],
  ["files:list", "Go on?", "The agents have spent the $1.50 that they may spend without asking.", "계속할까요?", ""],
  ["files:list", "Go on?", "The agents may spend $2 without asking, but the price of their model is unknown.", "계속할까요?", ""],
])("%s, %s is asked in the user's language", (topic, title, message, want, rest) => {
  const said = translateHubQuestion(topic, title, message, asks.ko);
  expect(said).toMatchObject({ title: want, message: rest });
  expect(said!.effect, "the effect").not.toMatch(english);
  const warned = translateHubQuestion(topic, title, `${message}\n\nThe agent asks because this conversation has read data from a.example. Such data can contain instructions of others.`, asks.ko);
  expect(warned).toMatchObject({ title: want, message: rest });
  expect(warned!.effect, "the reason of the question").toContain("a.example");
  // In English the object and the consequence are those of the hub.
  expect(translateHubQuestion(topic, title, message, asks.en)!.title.replaceAll(/[“”]/g, "")).toBe(topic === "app_delete" ? "Delete the app 노트?" : title);
});

test("a text that the page does not know is shown as it is, whatever it resembles", () => {
  for (const [topic, title] of [
    ["http_domain", "Allowed a.example?"],
    ["other", "Delete an app?"],
    ["config_hook", "Add a hook? Now"],
  ] as const) {
    expect(translateHubQuestion(topic, title, "x", asks.ko)).toBeUndefined();
    const request = { title, message: "x", permissionOptions: { toolName: topic } } as Ask["request"];
    expect(titleOf({ request }, asks.ko)).toBe(title);
  }
  const plain = { title: "Delete an app?", message: "a (b) and its data would be gone, on all your desktops." } as Ask["request"];
  expect(titleOf({ request: plain }, asks.ko), "a question of an agent").toBe("Delete an app?");
  expect(consequenceOf({ request: plain }, asks.ko)).toBeUndefined();
});
