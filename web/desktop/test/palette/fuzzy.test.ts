import { describe, expect, test } from "vitest";
import { match } from "../../src/palette/fuzzy.js";
import { charMatches, queryVariants } from "../../src/palette/hangul.js";

const score = (query: string, text: string): number => match(query, text)?.score ?? -Infinity;

test.each([
  ["set", "Settings"],
  ["thdk", "Theme: dark"],
  ["dark theme", "Theme: dark"],
  ["SESS", "Show your sessions"],
  ["", "anything"],
])("%s finds %s", (query, text) => {
  expect(match(query, text)).toBeDefined();
});

test.each([
  ["xyz", "Settings"],
  ["settingss", "Settings"],
  ["dark light", "Theme: dark"],
])("%s does not find %s", (query, text) => {
  expect(match(query, text)).toBeUndefined();
});

test("starts of words and consecutive letters score higher", () => {
  expect(score("set", "Settings")).toBeGreaterThan(score("set", "Reset the agent"));
  expect(score("mon", "Add a monitor")).toBeGreaterThan(score("mon", "Stop what this my own"));
  expect(score("new", "New session")).toBeGreaterThan(score("new", "Show the renewed window"));
});

test("the matched letters are reported", () => {
  expect(match("sd", "Show the drawer")?.at).toEqual([0, 9]);
  expect(match("dark", "Theme: dark")?.at).toEqual([7, 8, 9, 10]);
});

test("indexes stay valid after letters that grow in lower case", () => {
  expect(match("b", "İ b")?.at).toEqual([2]);
});

describe("Korean", () => {
  test.each([
    ["ㅁㄴㅌ", "모니터 추가"],
    ["ㅁㄴㅌㅊㄱ", "모니터 추가"],
    ["모니", "모니터 추가"],
    ["모닡", "모니터 추가"], // 니 and the initial consonant of 터, before its vowel is typed
    ["몬", "모니터 추가"],
    ["세션", "내 세션 보기"],
    ["세셔", "내 세션 보기"], // 션 before its final consonant
    ["ㄳ", "고속 검색"], // the keyboard joins ㄱ and ㅅ
    ["추가 모니터", "모니터 추가"],
  ])("%s finds %s", (query, text) => {
    expect(match(query, text)).toBeDefined();
  });

  test.each([
    ["ㅂㄴㅌ", "모니터 추가"],
    ["무니", "모니터 추가"],
    ["세센", "내 세션 보기"],
  ])("%s does not find %s", (query, text) => {
    expect(match(query, text)).toBeUndefined();
  });

  test("decomposed and composed texts match", () => {
    expect(match("모니터".normalize("NFD"), "모니터")).toBeDefined();
  });

  test("a whole syllable scores higher than an initial consonant", () => {
    expect(score("창", "창 닫기")).toBeGreaterThan(score("ㅊ", "창 닫기"));
  });

  test("characters that match others", () => {
    expect(charMatches("ㅎ", "한")).toBe(true);
    expect(charMatches("하", "한")).toBe(true);
    expect(charMatches("한", "하")).toBe(false);
    expect(charMatches("a", "한")).toBe(false);
    expect(queryVariants("갑")).toEqual(["갑", "가ㅂ"]);
    expect(queryVariants("값")).toEqual(["값", "갑ㅅ"]);
    expect(queryVariants("abc")).toEqual(["abc"]);
  });
});
