// The origin, the title and the text of a question.

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

/** The title that the hub gives every permission request for a tool of a provider. */
const defaultPermissionTitle = "May the agent do this?";

/** The title of a question. The page translates the titles that the hub writes itself. */
export function titleOf({ request }: Pick<Ask, "request">, t: Pick<(typeof texts)["en"], "permission" | "review" | "mayRun">): string {
  if ("title" in request) return request.title === defaultPermissionTitle ? t.permission : escapeInvisible(request.title);
  switch (request.type) {
    case "hitl_plan_review":
      return t.review;
    case "hitl_approval_request":
      return t.mayRun(escapeInvisible(request.todo.task));
    default:
      return escapeInvisible(request.question);
  }
}

/** The message that the hub gives every plan review. */
const defaultReviewMessage = "Please look at the plan.";

/** The message of a question besides its title; empty for the message that the hub gives every plan review. */
export function messageOf({ request }: Pick<Ask, "request">): string {
  const message = "message" in request ? request.message : "reason" in request ? request.reason : "";
  return message === defaultReviewMessage ? "" : escapeInvisible(message);
}

/**
 * Characters that change the text direction, that are invisible, or that look like a space and are none. Variation
 * selectors and joiners within emoji are allowed.
 */
const invisibleCharacters =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\u2800]|(?! )\p{Zs}|(?<!\p{Extended_Pictographic})\ufe0f|(?<![\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f])\u200d|(?![\ufe0f\u200d])\p{Default_Ignorable_Code_Point}/gu;

/** Runs of empty lines or spaces that make a text look as if it ended there. */
const longGaps = /\n(?:[ \t]*\n){3,}| {24,}/g;

/**
 * Replaces invisible characters by their code points, and long gaps by their length. Otherwise they could make an
 * argument look like another one, or push a part of it out of view.
 */
export function escapeInvisible(text: string): string {
  return text
    .replace(invisibleCharacters, (sign) => (sign === "\r" ? "" : `[U+${sign.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}]`))
    .replace(longGaps, (gap) => (gap.startsWith("\n") ? `\n[↵ ×${gap.split("\n").length - 2}]\n` : ` [␣ ×${gap.length}] `));
}
