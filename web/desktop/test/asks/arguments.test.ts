import { expect, test } from "vitest";
import { parseArguments } from "../../src/asks/arguments.js";

test("arguments are a list of names and values", () => {
  expect(parseArguments('files:delete\n{"path":"a\\nb","deep":{"x":[1]},"all":true}', "files:delete")).toEqual([
    { name: "path", value: "a\nb" },
    { name: "deep", value: '{\n  "x": [\n    1\n  ]\n}' },
    { name: "all", value: "true" },
  ]);
  expect(parseArguments('{"files":["a","b"],"odd":["a\\nb"],"none":[]}', "t")).toEqual([
    { name: "files", value: "• a\n• b" },
    { name: "odd", value: '[\n  "a\\nb"\n]' },
    { name: "none", value: "[]" },
  ]);
  expect(parseArguments('[1,"a"]', "t")).toEqual([{ name: "", value: '[\n  1,\n  "a"\n]' }]);
});

test.each([
  ["a text", "delete everything"],
  ["JSON that was cut", '{"path":"a… (12 bytes more)'],
  ["a name that is there twice", '{"path":"a","path":"b"}'],
  ["a name that is there twice inside", '{"x":{"path":"a","path":"b"}}'],
  ["a number that would be rounded", '{"id":12345678901234567890}'],
  ["a number only", "12"],
])("%s is shown unchanged", (_, input) => {
  expect(parseArguments(`t\n${input}`, "t")).toEqual([{ name: "", value: input }]);
});

test("names and numbers inside of strings do not count", () => {
  expect(parseArguments('{"a":"\\"b\\": 1.50","c":"9999999999999999999"}', "t")).toEqual([
    { name: "a", value: '"b": 1.50' },
    { name: "c", value: "9999999999999999999" },
  ]);
});

test("only the name of the requesting tool is removed", () => {
  expect(parseArguments("other\nthing", "t")).toEqual([{ name: "", value: "other\nthing" }]);
  expect(parseArguments("t\n", "t")).toEqual([]);
});
