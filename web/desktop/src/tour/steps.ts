// The steps of the tour, and its progress. Pure.

import { hasEnded, type MessageID, type Sent } from "../../../core/src/index.js";
import type { Language } from "../i18n/texts.js";

/** The steps that an agent performs, each started by one message. */
export const agentSteps = ["windows", "form", "approval", "plan", "background"] as const;

/** The steps without an agent. */
export const userSteps = ["plug", "secondTab", "ownTab", "restart", "model"] as const;

export type AgentStep = (typeof agentSteps)[number];
export type UserStep = (typeof userSteps)[number];
export type Step = AgentStep | UserStep;

/** In the order in which the move button goes through them. */
const corners = ["bottom-right", "bottom-left", "top-left", "top-right"] as const;

export type Corner = (typeof corners)[number];

/** The entry among the done steps of a user who has closed the tour. */
export const closedMark = "closed";

/** The steps among the settings of the user. */
export function knownSteps(names: readonly string[]): Step[] {
  const all: readonly string[] = [...agentSteps, ...userSteps];
  return names.filter((s): s is Step => all.includes(s));
}

/** The steps without an agent that are offered: the tour kills the hub itself if that comes back, else the user may. */
export function offeredSteps(canPlug: boolean): UserStep[] {
  return userSteps.filter((s) => s !== (canPlug ? "restart" : "plug"));
}

/** The progress of a tab in a session; stored for the next page load. The done steps are those of the user. */
export interface Progress {
  /** The message of each started step. */
  readonly sent: Readonly<Partial<Record<AgentStep, MessageID>>>;
  readonly done: readonly Step[];
  readonly corner: Corner;
  /** Whether the user chose the corner, so that it stays. */
  readonly put: boolean;
  /** Whether only the header and one step are shown. */
  readonly folded: boolean;
  /** Whether it is one line beside the command bar, because windows are everywhere. */
  readonly tucked: boolean;
}

export const noProgress: Progress = { sent: {}, done: [], corner: "bottom-left", put: false, folded: false, tucked: false };

/** Whether the tour goes on: it was begun in this tab, or elsewhere by this user. A fresh session begins with the welcome. */
export function hasBegun(p: Progress, fresh: boolean): boolean {
  return Object.keys(p.sent).length > 0 || (p.done.length > 0 && !fresh);
}

/** The message of each step; the demo provider knows these texts. */
export const requests: Record<Language, Record<AgentStep, string>> = {
  en: {
    windows: "Show me some windows",
    form: "Make a form: name, e-mail, message",
    approval: "Ask me before you delete the old reports",
    plan: "Plan a product launch with parallel tasks",
    background: "Watch the build in the background",
  },
  ko: {
    windows: "창을 몇 개 보여 줘",
    form: "양식 만들어 줘: 이름, 이메일, 내용",
    approval: "오래된 보고서를 지우기 전에 물어봐 줘",
    plan: "제품 출시를 병렬 작업으로 계획해 줘",
    background: "백그라운드에서 빌드를 지켜봐 줘",
  },
};

/** The state of a step: not started, running, done, or its message failed. */
export type Mark = "open" | "going" | "done" | "failed";

/** The state of a step. A message that is not in the outbox yet is about to be. */
export function markOf(step: Step, p: Progress, outbox: readonly Sent[]): Mark {
  if (p.done.includes(step)) return "done";
  const id = p.sent[step as AgentStep];
  if (id === undefined) return "open";
  const sent = outbox.find((s) => s.id === id);
  if (sent === undefined || !hasEnded(sent)) return "going";
  return sent.status === "rejected" || sent.status === "failed" ? "failed" : "done";
}

/** The progress with completed steps; the same object if there are no new ones. */
export function withDone(p: Progress, steps: readonly Step[]): Progress {
  const fresh = steps.filter((s) => !p.done.includes(s));
  return fresh.length === 0 ? p : { ...p, done: [...p.done, ...fresh] };
}

/** The steps whose message has ended, so that their state outlives the message. */
export function endedSteps(p: Progress, outbox: readonly Sent[]): Step[] {
  return agentSteps.filter((s) => p.sent[s] !== undefined && !p.done.includes(s) && markOf(s, p, outbox) === "done");
}

/** The progress that an earlier page load stored. A message that is not in the stored outbox had ended. */
export function resume(p: Progress, outbox: readonly Sent[]): Progress {
  return withDone(p, agentSteps.filter((s) => p.sent[s] !== undefined && !outbox.some((m) => m.id === p.sent[s])));
}

/** The current form of the tour. */
export type TourShape = "none" | "card" | "list" | "examples";

export interface TourInput {
  ready: boolean;
  provider: string;
  /** Whether the session has no messages and no windows. */
  fresh: boolean;
  /** Whether the tab shows one monitor only. */
  pinned: boolean;
  /** Whether the user has closed the tour; undefined until that is known. */
  toured: boolean | undefined;
  /** Whether the user opened the tour. */
  wanted: boolean;
  begun: boolean;
}

export function shapeOf(i: TourInput): TourShape {
  if (!i.ready || i.pinned) return "none";
  if (i.wanted) return i.begun || !i.fresh || i.provider !== "demo" ? "list" : "card";
  if (i.toured === undefined) return "none";
  if (i.provider === "demo" && !i.toured) {
    if (i.begun) return "list";
    if (i.fresh) return "card";
  }
  return i.fresh ? "examples" : "none";
}

/** The corner that is nearest to a point in a box. */
export function nearestCorner(x: number, y: number, width: number, height: number): Corner {
  return `${y < height / 2 ? "top" : "bottom"}-${x < width / 2 ? "left" : "right"}`;
}

/** The next corner, for use without a mouse. */
export function nextCorner(c: Corner): Corner {
  return corners[(corners.indexOf(c) + 1) % corners.length]!;
}

/** A rectangle on the canvas. */
export interface Box {
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}

export interface Surroundings {
  /** The size of the list, and its size while collapsed. */
  readonly list: Pick<Box, "w" | "h">;
  readonly folded: Pick<Box, "w" | "h">;
  /** The size of the canvas. */
  readonly canvas: Pick<Box, "w" | "h">;
  readonly windows: readonly Box[];
}

/** The distance of the list from the edges, in px. */
const margin = 16;

/** The list after windows opened or closed: collapsed if it covers one, in a free corner if there is one, else beside the command bar. */
export function avoidWindows(p: Progress, s: Surroundings): Progress {
  const covers = (corner: Corner, size: Pick<Box, "w" | "h">): boolean => {
    const at = cornerBox(corner, size, s.canvas);
    return s.windows.some((w) => overlap(at, w));
  };
  const folded = p.folded || covers(p.corner, s.list);
  const size = folded ? s.folded : s.list;
  const free = p.put || !covers(p.corner, size) ? p.corner : (corners.find((c) => !covers(c, size)) ?? p.corner);
  const tucked = folded && covers(free, s.folded);
  return folded === p.folded && free === p.corner && tucked === p.tucked ? p : { ...p, folded, corner: free, tucked };
}

function cornerBox(corner: Corner, { w, h }: Pick<Box, "w" | "h">, room: Pick<Box, "w" | "h">): Box {
  const [down, right] = [corner.startsWith("bottom"), corner.endsWith("right")];
  return { x: right ? room.w - margin - w : margin, y: down ? room.h - margin - h : margin, w, h };
}

function overlap(a: Box, b: Box): boolean {
  return a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;
}

export function readProgress(text: string | null): Progress {
  try {
    const v = (JSON.parse(text ?? "{}") ?? {}) as Record<string, unknown>;
    const sent = (typeof v.sent === "object" ? v.sent : null) ?? {};
    const ids = Object.entries(sent).filter(([k, id]) => (agentSteps as readonly string[]).includes(k) && typeof id === "string");
    const done = Array.isArray(v.done) ? knownSteps(v.done.filter((s) => typeof s === "string")) : [];
    const corner = corners.find((c) => c === v.corner) ?? noProgress.corner;
    return { sent: Object.fromEntries(ids) as Progress["sent"], done, corner, put: v.put === true, folded: v.folded === true, tucked: v.tucked === true };
  } catch {
    return noProgress;
  }
}
