import { encode } from "uqr";
import { expect, test } from "vitest";
import { sortByUse, stateOf, usedAt } from "../../src/sessions/list.js";
import { barsOf } from "../../src/sessions/qr.js";
import type { SessionCard } from "../../src/shell/api.js";

const card = (sessionId: string, lastActivity: string, part: Partial<SessionCard> = {}): SessionCard => ({
  sessionId,
  user: "ann",
  access: "owner",
  working: false,
  metadata: { createdAt: "2026-01-01T00:00:00Z", lastActivity, provider: "demo" },
  ...part,
});

test("the most recently used session is first", () => {
  const all = [card("a", "2026-01-02T00:00:00Z"), card("b", "2026-03-02T00:00:00Z"), card("c", "never"), card("d", "2026-02-02T00:00:00Z")];
  expect(sortByUse(all).map((s) => s.sessionId)).toEqual(["b", "d", "a", "c"]);
  expect(all[0]!.sessionId).toBe("a");
});

test("a session that was never used counts from its creation", () => {
  expect(usedAt(card("a", ""))).toBe(Date.parse("2026-01-01T00:00:00Z"));
});

test("a quarantined session is shown as such, whatever it did", () => {
  expect(stateOf(card("a", ""))).toBe("idle");
  expect(stateOf(card("a", "", { working: true }))).toBe("working");
  expect(stateOf(card("a", "", { working: true, setAside: true }))).toBe("setAside");
});

test("the bars of a QR code are its dark modules", () => {
  const { data } = encode("http://192.168.0.10:8080/join#abcdefghijklmnop", { ecc: "M" });
  const drawn = data.map((row) => row.map(() => false));
  for (const b of barsOf(data)) for (let x = b.x; x < b.x + b.width; x++) drawn[b.y]![x] = true;
  expect(drawn).toEqual(data);
  expect(barsOf([[true, true, false, true]])).toEqual([{ x: 0, y: 0, width: 2 }, { x: 3, y: 0, width: 1 }]);
});
