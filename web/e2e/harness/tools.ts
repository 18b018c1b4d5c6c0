// Calls tools as agents do.

import type { SessionID } from "../../core/src/index.js";
import { until } from "./desktop-page.js";
import type { Hub } from "./hub.js";

/** Calls a tool as the agent of a task does, and waits for its result. */
export async function callTool(hub: Hub, session: SessionID, tool: string, input: object): Promise<string> {
  const before = (await hub.rest.events(session)).length;
  await hub.rest.sendMessage(session, `/task app Do it; /call ${tool} ${JSON.stringify(input)}`);
  const name = tool.replace("_", ":");
  const ended = async (): Promise<string> => {
    for (const e of (await hub.rest.events(session)).slice(before)) {
      if (e.type === "TOOL_PROGRESS" && e.data.toolName === name && e.data.status !== "running") return `${e.data.status}: ${e.data.message ?? ""}`;
    }
    return "";
  };
  await until(ended).not.toBe("");
  return ended();
}
