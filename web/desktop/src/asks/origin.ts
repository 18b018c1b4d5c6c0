// Where a question comes from, and its text as it is.

import { type AgentID, type DesktopState, firstMonitor, type MonitorID } from "../../../core/src/index.js";
import type { asks as texts } from "../texts/parts.js";
import type { Ask } from "./order.js";

export interface Origin {
  agent: AgentID;
  monitor: MonitorID;
}

export function originOf(ask: Exclude<Ask, { kind: "plan" }>, desktop: Pick<DesktopState, "agents">): Origin {
  const { agentId = "", monitorId = "" } = ask.request;
  const agent = desktop.agents.get(agentId);
  const monitor = monitorId || agent?.monitorId || firstMonitor;
  return { agent: agentId, monitor };
}

/** What the hub says in English of every tool of a provider that wants to be allowed. */
const anyTool = "May the agent do this?";

/** What a question is called. Those that are asked most have words of the page. */
export function titleOf({ request }: Pick<Ask, "request">, t: Pick<(typeof texts)["en"], "permission" | "review" | "mayRun">): string {
  if ("title" in request) return request.title === anyTool ? t.permission : visible(request.title);
  switch (request.type) {
    case "hitl_plan_review":
      return t.review;
    case "hitl_approval_request":
      return t.mayRun(visible(request.todo.task));
    default:
      return visible(request.question);
  }
}

/** What the hub says in English of every plan. */
const anyPlan = "Please look at the plan.";

/** What is said besides the title of a question; nothing of what the page says better. */
export function messageOf({ request }: Pick<Ask, "request">): string {
  const message = "message" in request ? request.message : "reason" in request ? request.reason : "";
  return message === anyPlan ? "" : visible(message);
}

/**
 * Signs that turn the direction of what follows, or that have no looks at all, or that look like a space and are none.
 * In emoji some of them are at home.
 */
const unseen =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\u2800]|(?! )\p{Zs}|(?<!\p{Extended_Pictographic})\ufe0f|(?<![\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f])\u200d|(?![\ufe0f\u200d])\p{Default_Ignorable_Code_Point}/gu;

/** So many empty lines, or spaces in a line, are as good as the end of a text. */
const emptiness = /\n(?:[ \t]*\n){3,}| {24,}/g;

/**
 * A text in which everything can be seen: what cannot could make an argument look like another one, or push a part of it
 * out of sight.
 */
export function visible(text: string): string {
  return text
    .replace(unseen, (sign) => (sign === "\r" ? "" : `[U+${sign.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}]`))
    .replace(emptiness, (gap) => (gap.startsWith("\n") ? `\n[↵ ×${gap.split("\n").length - 2}]\n` : ` [␣ ×${gap.length}] `));
}
