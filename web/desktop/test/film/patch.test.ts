import { expect, it } from "vitest";
import { linesOf, maxLines } from "../../src/film/patch.js";

it("a patch is read line by line, and names of files are no changes", () => {
  const patch = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n same\n-old\n+new\n--- text\n\\ No newline at end of file\n";
  expect(linesOf(patch).map((l) => l.kind)).toEqual(["head", "head", "head", "place", "same", "removed", "added", "removed", "same"]);
  expect(linesOf("").length).toBe(1);
  expect(linesOf("a\n".repeat(maxLines + 10)).length).toBe(maxLines);
});
