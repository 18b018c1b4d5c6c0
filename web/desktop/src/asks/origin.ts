// Where a question comes from, and its text as it is.

import { type AgentID, type Desk, firstMonitor, type MonitorID } from "../../../core/src/index.js";
import type { Ask } from "./order.js";

export interface Origin {
  agent: AgentID;
  monitor: MonitorID;
}

export function originOf(ask: Ask, desk: Pick<Desk, "agents">): Origin {
  const { agentId = "", monitorId = "" } = ask.request;
  const agent = desk.agents.get(agentId);
  const monitor = monitorId || agent?.monitorId || firstMonitor;
  return { agent: agentId, monitor };
}

/**
 * A text in which everything can be seen: signs that turn the direction of what follows, or that have no looks at all,
 * could make an argument look like another one.
 */
export function visible(text: string): string {
  return text.replace(
    /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2064\u2066-\u206f\ufeff]|[\u{e0000}-\u{e007f}]/gu,
    (sign) => (sign === "\r" ? "" : `[U+${sign.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}]`),
  );
}
