// The origin, the title and the message of a question.

import { type AgentID, type DesktopState, firstMonitor, type MonitorID } from "../../../core/src/index.js";
import { type Consequence, describeCall, type Words } from "./consequence.js";
import { type HubQuestion, translateHubQuestion } from "./hub-questions.js";
import { escapeInvisible } from "./invisible.js";
import type { Ask } from "./order.js";

export interface Origin {
  agent: AgentID;
  monitor: MonitorID;
}

/** The agent that asks, and the monitor on which it works. */
export function originOf(ask: Exclude<Ask, { kind: "plan" }>, desktop: Pick<DesktopState, "agents">): Origin {
  const { agentId = "", monitorId = "" } = ask.request;
  const agent = desktop.agents.get(agentId);
  const monitor = monitorId || agent?.monitorId || firstMonitor;
  return { agent: agentId, monitor };
}

/** The title that the hub gives every permission request for a tool of a provider. */
const defaultPermissionTitle = "May the agent do this?";

/** The title of a question. The page translates the titles that the hub writes itself. */
export function titleOf({ request }: Pick<Ask, "request">, t: Words): string {
  if ("title" in request) {
    if (request.title === defaultPermissionTitle) return consequenceOf({ request }, t)?.title ?? t.permission;
    return hubQuestionOf({ request }, t)?.title ?? escapeInvisible(request.title);
  }
  switch (request.type) {
    case "hitl_plan_review":
      return t.review;
    case "hitl_approval_request":
      return t.mayRun(escapeInvisible(request.todo.task));
    default:
      return escapeInvisible(request.question);
  }
}

/** A question that the hub writes itself, in the words of the page; undefined for other questions. */
export function hubQuestionOf({ request }: Pick<Ask, "request">, t: Words): HubQuestion | undefined {
  const tool = "permissionOptions" in request ? request.permissionOptions?.toolName : undefined;
  return tool === undefined || !("message" in request) || !("title" in request) ? undefined : translateHubQuestion(tool, request.title, request.message, t);
}

/** What a tool would do; undefined for other questions and unknown tools. */
export function consequenceOf({ request }: Pick<Ask, "request">, t: Words): Consequence | undefined {
  const tool = "permissionOptions" in request ? request.permissionOptions?.toolName : undefined;
  if (tool === undefined || !("message" in request)) return undefined;
  return hubQuestionOf({ request }, t) ?? describeCall(tool, request.message, t);
}

/** The message that the hub gives every plan review. */
const defaultReviewMessage = "Please look at the plan.";

/** The message of a question besides its title; empty for the message that the hub gives every plan review. */
export function messageOf({ request }: Pick<Ask, "request">): string {
  const message = "message" in request ? request.message : "reason" in request ? request.reason : "";
  return message === defaultReviewMessage ? "" : escapeInvisible(message);
}
