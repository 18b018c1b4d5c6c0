import { expect, it, test } from "vitest";
import { mostRows, readCSV } from "../../src/files/csv.js";

test.each<[string, string, string, string[][]]>([
  ["commas", "a.csv", "x,y\n1,2\n", [["x", "y"], ["1", "2"]]],
  ["semicolons", "a.csv", "x;y\r\n1,5;2\r\n", [["x", "y"], ["1,5", "2"]]],
  ["tabs by the name", "a.tsv", "x,z\ty\n1\t2", [["x,z", "y"], ["1", "2"]]],
  ["quotes", "a.csv", 'x,y\n"a ""b"", c\nd",2\n', [["x", "y"], ['a "b", c\nd', "2"]]],
  ["a quote that is not closed", "a.csv", 'x,y\n"a,b\nc', [["x", "y"], ["a,b\nc"]]],
  ["empty cells and lines", "a.csv", "x,y\n,\n\n1,\n", [["x", "y"], ["", ""], ["1", ""]]],
  ["a mark of the encoding", "a.csv", "\ufeffx,y\n", [["x", "y"]]],
  ["old line ends", "a.csv", "x,y\r1,2\r", [["x", "y"], ["1", "2"]]],
  ["nothing", "a.csv", "", [[]]],
])("%s", (_, name, text, want) => {
  const { headers, rows, cut } = readCSV(text, name);
  expect([headers, ...rows]).toEqual(want);
  expect(cut).toBe(false);
});

it("shows a bounded number of rows and columns", () => {
  const wide = readCSV(`${"x,".repeat(300)}x\n`, "a.csv");
  expect(wide.headers).toHaveLength(200);
  const long = readCSV("x\n".repeat(mostRows + 10), "a.csv");
  expect([long.rows.length, long.cut]).toEqual([mostRows, true]);
});
