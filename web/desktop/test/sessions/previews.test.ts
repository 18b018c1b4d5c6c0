import { expect, test } from "vitest";
import type { WindowState } from "../../../core/src/index.js";
import { findSessions } from "../../src/sessions/previews.js";
import type { SessionCard } from "../../src/shell/api.js";

const card = (sessionId: string, title: string, user = "ada"): SessionCard => ({ sessionId, title, user, access: "owner", working: false, metadata: { createdAt: "", lastActivity: "", provider: "demo" } });
const window = (title: string): WindowState => ({ windowId: title, monitorId: "monitor-0", title, bounds: { x: 0, y: 0, w: 1, h: 1 }, content: { renderer: "text", data: "" } });

test("sessions are found by title, owner and the titles of their windows", () => {
  const all = [card("a", "Trip to Busan"), card("b", "", "bob"), card("c", "부산 여행")];
  const previews = new Map([["b", [window("Budget 2026")]]]);
  const found = (text: string): string[] => findSessions(all, previews, text).map((c) => c.sessionId);
  expect(found("")).toEqual(["a", "b", "c"]);
  expect(found("busan TRIP")).toEqual(["a"]);
  expect(found("budget")).toEqual(["b"]);
  expect(found("bob")).toEqual(["b"]);
  expect(found("부산".normalize("NFD"))).toEqual(["c"]);
  expect(found("rome")).toEqual([]);
});
