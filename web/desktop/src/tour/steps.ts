// The steps of the tour, and how far somebody is. Pure: what was done comes in, marks come out.

import { hasEnded, type MessageID, type Sent } from "../../../core/src/index.js";
import type { Language } from "../i18n/texts.js";

/** What a click can show, each by one message. */
export const showings = ["windows", "form", "approval", "plan", "background"] as const;

/** What needs no agent. */
export const doings = ["secondTab", "ownTab", "restart", "model"] as const;

export type Showing = (typeof showings)[number];
export type Doing = (typeof doings)[number];
export type Step = Showing | Doing;

/** In the order in which a key walks through them. */
const corners = ["bottom-right", "bottom-left", "top-left", "top-right"] as const;

export type Corner = (typeof corners)[number];

/** How far a tab is with a session; kept for its next page. */
export interface Progress {
  /** The message of each step that was sent. */
  readonly sent: Readonly<Partial<Record<Showing, MessageID>>>;
  readonly done: readonly Step[];
  readonly corner: Corner;
  /** The person put it into that corner, so it stays there. */
  readonly put: boolean;
  /** Only its head and one step are shown. */
  readonly folded: boolean;
}

export const noProgress: Progress = { sent: {}, done: [], corner: "bottom-left", put: false, folded: false };

export function hasBegun(p: Progress): boolean {
  return Object.keys(p.sent).length > 0 || p.done.length > 0;
}

/** What is said for a step; the demo knows these words. */
export const requests: Record<Language, Record<Showing, string>> = {
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

/** How a step stands: nobody began it, it is under way, it is done, or its message came to nothing. */
export type Mark = "open" | "going" | "done" | "failed";

/** The mark of a step. A message that is not in the outbox is about to be. */
export function markOf(step: Step, p: Progress, outbox: readonly Sent[]): Mark {
  if (p.done.includes(step)) return "done";
  const id = p.sent[step as Showing];
  if (id === undefined) return "open";
  const sent = outbox.find((s) => s.id === id);
  if (sent === undefined || !hasEnded(sent)) return "going";
  return sent.status === "rejected" || sent.status === "failed" ? "failed" : "done";
}

/** Progress with steps that are done by now; the same object when there are none. */
export function withDone(p: Progress, steps: readonly Step[]): Progress {
  const fresh = steps.filter((s) => !p.done.includes(s));
  return fresh.length === 0 ? p : { ...p, done: [...p.done, ...fresh] };
}

/** The steps whose message has come to its end, so that the mark outlives the message. */
export function endedSteps(p: Progress, outbox: readonly Sent[]): Step[] {
  return showings.filter((s) => p.sent[s] !== undefined && !p.done.includes(s) && markOf(s, p, outbox) === "done");
}

/** Progress that the page before this one left. A message that its outbox did not leave too had ended. */
export function resume(p: Progress, outbox: readonly Sent[]): Progress {
  return withDone(p, showings.filter((s) => p.sent[s] !== undefined && !outbox.some((m) => m.id === p.sent[s])));
}

/** What the tour is at the moment. */
export type TourShape = "none" | "card" | "list" | "examples";

export interface TourInput {
  ready: boolean;
  provider: string;
  /** The session has neither words nor windows. */
  fresh: boolean;
  /** The tab shows one monitor only. */
  pinned: boolean;
  /** It was closed once. */
  toured: boolean;
  /** Somebody asked for it. */
  wanted: boolean;
  begun: boolean;
}

export function shapeOf(i: TourInput): TourShape {
  if (!i.ready || i.pinned) return "none";
  if (i.wanted) return i.begun || !i.fresh || i.provider !== "demo" ? "list" : "card";
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

/** The corners in turn, for those who have no mouse. */
export function nextCorner(c: Corner): Corner {
  return corners[(corners.indexOf(c) + 1) % corners.length]!;
}

/** A place on the canvas. */
export interface Box {
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}

export interface Surroundings {
  /** How large the list is, and how large when it is folded. */
  readonly list: Pick<Box, "w" | "h">;
  readonly folded: Pick<Box, "w" | "h">;
  /** How large the canvas is. */
  readonly room: Pick<Box, "w" | "h">;
  readonly windows: readonly Box[];
}

/** How far the list stays from the edges. */
const margin = 16;

/** The list after windows were opened: folded if it lies on one, and where it lies on none if there is such a corner. */
export function outOfTheWay(p: Progress, s: Surroundings): Progress {
  const covers = (corner: Corner, size: Pick<Box, "w" | "h">): boolean => {
    const at = cornerBox(corner, size, s.room);
    return s.windows.some((w) => overlap(at, w));
  };
  const folded = p.folded || covers(p.corner, s.list);
  const size = folded ? s.folded : s.list;
  const free = p.put || !covers(p.corner, size) ? p.corner : (corners.find((c) => !covers(c, size)) ?? p.corner);
  return folded === p.folded && free === p.corner ? p : { ...p, folded, corner: free };
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
    const ids = Object.entries(sent).filter(([k, id]) => (showings as readonly string[]).includes(k) && typeof id === "string");
    const all: readonly string[] = [...showings, ...doings];
    const done = Array.isArray(v.done) ? (v.done.filter((s) => all.includes(s as string)) as Step[]) : [];
    const corner = corners.find((c) => c === v.corner) ?? noProgress.corner;
    return { sent: Object.fromEntries(ids) as Progress["sent"], done, corner, put: v.put === true, folded: v.folded === true };
  } catch {
    return noProgress;
  }
}
