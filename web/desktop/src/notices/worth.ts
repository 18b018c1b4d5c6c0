// What is worth a notification of the browser, and what the title of the page says.

import type { HubEvent, MonitorID } from "../../../core/src/index.js";
import { kindOfRole } from "../dock/agents.js";

/** Something a person who is not looking should know. */
export interface News {
  /** The same for all tabs. */
  key: string;
  kind: "finished" | "failed" | "needsYou" | "planFinished" | "planFailed";
  monitor: MonitorID;
  text: string;
}

/** Turns that were quicker than that need no announcement when somebody was just here. */
const longTurn = 10_000;
/** What is older was seen, or does not matter any more. */
const stale = 60_000;

export interface Scene {
  /** By the clock of the hub. */
  now: number;
  /** Nobody sees this tab. */
  hidden: boolean;
}

/** What an event is worth. What the person stopped is no news to them, and neither are the helpers of an agent. */
export function newsOf(e: HubEvent, scene: Scene): News | undefined {
  if (e.type === "" || scene.now - e.time > stale) return undefined;
  switch (e.type) {
    case "AGENT_RESPONSE": {
      const { isComplete, outcome = "completed", agentId = "", durationMs = 0, monitorId = "", joined = "" } = e.data;
      // A message that joined a turn ends with the one that began it, which is the news.
      if (!isComplete || joined !== "" || outcome === "interrupted" || kindOfRole(agentId) === "task") return undefined;
      if (outcome === "failed") return { key: `turn ${e.at}`, kind: "failed", monitor: monitorId, text: e.data.reason ?? "" };
      return durationMs > longTurn || scene.hidden ? { key: `turn ${e.at}`, kind: "finished", monitor: monitorId, text: "" } : undefined;
    }
    case "TURN_INTERRUPTED":
      return e.data.resumable ? { key: `turn ${e.at}`, kind: "needsYou", monitor: e.data.monitorId ?? "", text: e.data.reason } : undefined;
    case "APPROVAL_REQUEST":
      return { key: `ask ${e.data.dialogId} ${e.at}`, kind: "needsYou", monitor: e.data.monitorId ?? "", text: gist(e.data) };
    case "ACTIONS": {
      const ask = e.data.actions.find((a) => a.type === "dialog.confirm" || a.type === "user.prompt.show");
      return ask === undefined ? undefined : { key: `ask ${ask.id} ${e.at}`, kind: "needsYou", monitor: e.data.monitorId ?? "", text: gist(ask) };
    }
    // A plan that stood still asks once more what it asked before, which is no news.
    case "hitl_plan_review":
      return ofPlan(`ask ${e.data.request_id}`, "needsYou", { title: "", message: e.data.message });
    case "hitl_approval_request":
      return ofPlan(`ask ${e.data.request_id}`, "needsYou", { title: e.data.todo.task, message: e.data.reason });
    case "hitl_input_request":
    case "hitl_clarification":
      return ofPlan(`ask ${e.data.request_id}`, "needsYou", { title: "", message: e.data.question });
    case "complete":
      return ofPlan(`plan ${e.at}`, "planFinished", { title: "", message: e.data.response.summary || e.data.response.text });
    case "failed":
      if (e.data.status === "cancelled" && e.data.error.code !== "HITL_TIMEOUT") return undefined;
      return ofPlan(`plan ${e.at}`, "planFailed", { title: "", message: e.data.error.message });
  }
  return undefined;
}

function ofPlan(key: string, kind: News["kind"], what: { title: string; message: string }): News {
  return { key, kind, monitor: "", text: gist(what) };
}

/** What is asked, in a line. */
function gist({ title, message }: { title: string; message: string }): string {
  const line = `${title} ${message}`.replace(/\s+/g, " ").trim();
  return line.length > 160 ? `${line.slice(0, 159)}…` : line;
}

/** The title of the page: how much waits for the person comes first, where a narrow tab still shows it. */
export function pageTitle(session: string, waiting: number): string {
  const name = session === "" ? "Everdesk" : `${session} — Everdesk`;
  return waiting > 0 ? `(${waiting > 99 ? "99+" : waiting}) ${name}` : name;
}
