import { expect, test } from "vitest";
import { placeholderOf } from "../../src/dock/command-bar.js";
import { dock } from "../../src/texts/entry.js";

test("a narrow field has a short placeholder, whatever the state", () => {
  for (const t of [dock.en, dock.ko]) {
    for (const [plan, running] of [[false, false], [false, true], [true, false]] as const) {
      expect(placeholderOf(t, plan, running, true).length).toBeLessThanOrEqual(placeholderOf(t, plan, running, false).length);
      expect(placeholderOf(t, plan, running, true).length, "characters in a field of 140 px").toBeLessThanOrEqual(16);
    }
  }
});
