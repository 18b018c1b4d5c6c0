import { expect, test } from "vitest";
import { dictate, type Recogniser } from "../../src/dock/dictation.js";

class FakeRecogniser implements Recogniser {
  lang = "";
  continuous = false;
  interimResults = false;
  onresult: Recogniser["onresult"] = null;
  onerror: Recogniser["onerror"] = null;
  onend: Recogniser["onend"] = null;
  readonly calls: string[] = [];
  start(): void {
    this.calls.push("start");
  }
  stop(): void {
    this.calls.push("stop");
    this.onend?.();
  }
  abort(): void {
    this.calls.push("abort");
    this.onend?.();
  }
  hear(...said: string[]): void {
    this.onresult?.({ results: said.map((transcript) => [{ transcript }]) });
  }
}

function begin(before = "", language: "en" | "ko" = "en"): { fake: FakeRecogniser; log: string[]; dictation: ReturnType<typeof dictate> } {
  const fake = new FakeRecogniser();
  const log: string[] = [];
  const dictation = dictate(fake, language, before, {
    onText: (text) => log.push(text),
    onEnd: () => log.push("(end)"),
    onError: (kind) => log.push(`(${kind})`),
  });
  return { fake, log, dictation };
}

test("what is said is put behind the text of the field, in the language of the page", () => {
  const { fake, log } = begin("Please", "ko");
  fake.hear("open");
  fake.hear("open a window", " now");
  expect(log).toEqual(["Please open", "Please open a window now"]);
  expect([fake.lang, fake.continuous, fake.interimResults]).toEqual(["ko-KR", true, true]);
  expect(begin().fake.lang).toBe("en-US");
});

test("an empty field begins without a space", () => {
  const { fake, log } = begin();
  fake.hear(" hello");
  expect(log).toEqual(["hello"]);
});

test("stop ends it once; what was still being recognised counts until then", () => {
  const { fake, log, dictation } = begin();
  fake.hear("a");
  dictation.stop();
  fake.hear("a b");
  expect(log).toEqual(["a", "(end)"]);
  expect(fake.calls).toEqual(["start", "stop"]);
});

test("after cancel nothing is put into the field any more", () => {
  const { fake, log, dictation } = begin();
  dictation.cancel();
  fake.hear("late");
  expect(log).toEqual(["(end)"]);
  expect(fake.calls).toEqual(["start", "abort"]);
});

test.each([
  ["not-allowed", ["(denied)"]],
  ["network", ["(failed)"]],
  ["no-speech", []],
  ["aborted", []],
])("the error %s", (error, shown) => {
  const { fake, log } = begin();
  fake.onerror?.({ error });
  expect(log).toEqual(shown);
});

test("a recogniser that does not start is an error, and the end", () => {
  const fake = new FakeRecogniser();
  fake.start = () => {
    throw new Error("busy");
  };
  const log: string[] = [];
  dictate(fake, "en", "", { onText: () => log.push("text"), onEnd: () => log.push("end"), onError: (kind) => log.push(kind) });
  expect(log).toEqual(["failed", "end"]);
});
