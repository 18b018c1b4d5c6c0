// Measures decoding and applying 10,000 events, as after a long absence. Run with: npm run bench

import { bench, expect } from "vitest";
import { decodeFrame } from "../src/event.js";
import { applyEvent } from "../src/reduce.js";
import { emptyDesktop } from "../src/state.js";

let said = 0;

function frame(i: number): string {
  const head = (type: string, data: object) =>
    JSON.stringify({
      type,
      session_id: "ses-1",
      message_id: `1-${i + 1}`,
      timestamp: new Date(1_794_700_000_000 + i * 50).toISOString(),
      data,
    });
  const windowId = `w${i % 20}`;
  const bounds = { x: i % 800, y: 10, w: 400, h: 300 };
  switch (i % 10) {
    case 0:
      return head("ACTIONS", {
        actions: [{ type: "window.create", windowId, title: "t", bounds, content: { renderer: "markdown", data: "# Hello\n".repeat(20) } }],
        monitorId: "monitor-0",
      });
    case 1:
      return head("ACTIONS", { actions: [{ type: "window.move", windowId, x: i % 700, y: 5 }], monitorId: "monitor-0" });
    case 2:
      return head("ACTIONS", {
        actions: [{ type: "window.updateContent", windowId, operation: { op: "append", data: "more text\n" } }],
        monitorId: "monitor-0",
      });
    case 3:
      return head("messageUpdated", { action: "created", message: { ts: i, type: "say", say: "text", text: "row ".repeat(40) }, monitorId: "monitor-0" });
    case 4:
      return head("TOOL_PROGRESS", { toolName: "window:create", status: i % 20 === 4 ? "running" : "complete", agentId: "main-monitor-0-m1", monitorId: "monitor-0" });
    default: {
      const to = { agentId: `main-${Math.floor(i / 500)}`, monitorId: "monitor-0" };
      if (i % 500 === 499) {
        said = 0;
        return head("AGENT_RESPONSE", { isComplete: true, outcome: "completed", ...to });
      }
      const delta = "some words of the answer here ";
      const offset = said;
      said += delta.length;
      return head("AGENT_RESPONSE", { delta, offset, isComplete: false, ...to });
    }
  }
}

const frames = Array.from({ length: 10_000 }, (_, i) => frame(i));

bench(
  "read and apply 10,000 events",
  () => {
    let desktop = emptyDesktop();
    for (const f of frames) for (const e of decodeFrame(f).events) desktop = applyEvent(desktop, e);
    expect(desktop.at).toBe("1-10000");
  },
  { iterations: 10, warmupIterations: 2, time: 0 },
);
