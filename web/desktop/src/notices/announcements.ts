// Which events cause a notification of the browser, and the title of the page.

import type { HubEvent, MonitorID } from "../../../core/src/index.js";
import { kindOfRole } from "../dock/agents.js";

/** An announcement for a user who is not looking at the page. */
export interface Announcement {
  /** The key, which is the same in all tabs. */
  key: string;
  kind: "finished" | "failed" | "needsYou" | "planFinished" | "planFailed";
  monitor: MonitorID;
  text: string;
}

/** Turns that took less time are announced only while the tab is hidden, in ms. */
const longTurn = 10_000;
/** The maximum age of an event that is announced, in ms. */
const maxAge = 60_000;

export interface AnnouncementContext {
  /** The hub's time. */
  now: number;
  /** Whether this tab does not have the focus. */
  hidden: boolean;
}

/** The announcement of an event. Turns that the user interrupted and turns of task agents are not announced. */
export function announcementOf(e: HubEvent, scene: AnnouncementContext): Announcement | undefined {
  if (e.type === "" || scene.now - e.time > maxAge) return undefined;
  switch (e.type) {
    case "AGENT_RESPONSE": {
      const { isComplete, outcome = "completed", agentId = "", durationMs = 0, monitorId = "", joined = "" } = e.data;
      // A message that joined a turn ends together with that turn, which is announced.
      if (!isComplete || joined !== "" || outcome === "interrupted" || kindOfRole(agentId) === "task") return undefined;
      if (outcome === "failed") return { key: `turn ${e.at}`, kind: "failed", monitor: monitorId, text: e.data.reason ?? "" };
      return durationMs > longTurn || scene.hidden ? { key: `turn ${e.at}`, kind: "finished", monitor: monitorId, text: "" } : undefined;
    }
    case "TURN_INTERRUPTED":
      return e.data.resumable ? { key: `turn ${e.at}`, kind: "needsYou", monitor: e.data.monitorId ?? "", text: e.data.reason } : undefined;
    case "APPROVAL_REQUEST":
      return { key: `ask ${e.data.dialogId} ${e.at}`, kind: "needsYou", monitor: e.data.monitorId ?? "", text: summarize(e.data) };
    case "ACTIONS": {
      const ask = e.data.actions.find((a) => a.type === "dialog.confirm" || a.type === "user.prompt.show");
      return ask === undefined ? undefined : { key: `ask ${ask.id} ${e.at}`, kind: "needsYou", monitor: e.data.monitorId ?? "", text: summarize(ask) };
    }
    // A resumed plan repeats its open questions under the same key, which are not announced again.
    case "hitl_plan_review":
      return planAnnouncement(`ask ${e.data.request_id}`, "needsYou", { title: "", message: e.data.message });
    case "hitl_approval_request":
      return planAnnouncement(`ask ${e.data.request_id}`, "needsYou", { title: e.data.todo.task, message: e.data.reason });
    case "hitl_input_request":
    case "hitl_clarification":
      return planAnnouncement(`ask ${e.data.request_id}`, "needsYou", { title: "", message: e.data.question });
    case "complete":
      return planAnnouncement(`plan ${e.at}`, "planFinished", { title: "", message: e.data.response.summary || e.data.response.text });
    case "failed":
      if (e.data.status === "cancelled" && e.data.error.code !== "HITL_TIMEOUT") return undefined;
      return planAnnouncement(`plan ${e.at}`, "planFailed", { title: "", message: e.data.error.message });
  }
  return undefined;
}

function planAnnouncement(key: string, kind: Announcement["kind"], what: { title: string; message: string }): Announcement {
  return { key, kind, monitor: "", text: summarize(what) };
}

/** A question in one line. */
function summarize({ title, message }: { title: string; message: string }): string {
  const line = `${title} ${message}`.replace(/\s+/g, " ").trim();
  return line.length > 160 ? `${line.slice(0, 159)}…` : line;
}

/**
 * The title of the page. The number of open questions and unread notifications comes first, where a narrow tab still
 * shows it.
 */
export function pageTitle(session: string, waiting: number): string {
  const name = session === "" ? "Everdesk" : `${session} — Everdesk`;
  return waiting > 0 ? `(${waiting > 99 ? "99+" : waiting}) ${name}` : name;
}
