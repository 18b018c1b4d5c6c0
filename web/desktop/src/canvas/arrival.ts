// The motion from a task to what it made: a new window, or the card with the result of a plan. Loaded after the first paint.

import type { Actions } from "../../../core/src/index.js";
import { kindOfRole, planTodo } from "../dock/agents.js";

/** How long the motion takes, in ms. */
const arrivalTime = 240;

type Box = Pick<DOMRect, "left" | "top" | "width" | "height">;

/** The first keyframe of something at `to` that comes from `from`; undefined if either is not shown. */
export function arrivalFrom(from: Box, to: Box): { translate: string; scale: string; opacity: number } | undefined {
  if (from.width === 0 || from.height === 0 || to.width === 0 || to.height === 0) return undefined;
  const dx = from.left + from.width / 2 - to.left - to.width / 2;
  const dy = from.top + from.height / 2 - to.top - to.height / 2;
  return { translate: `${Math.round(dx)}px ${Math.round(dy)}px`, scale: String(Math.min(1, from.width / to.width, from.height / to.height)), opacity: 0.3 };
}

/** Moves an element from a place on the screen to its own, unless the user prefers reduced motion. */
export function showArrival(from: Box | undefined, to: HTMLElement | null): void {
  if (from === undefined || to === null || matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  const first = arrivalFrom(from, to.getBoundingClientRect());
  if (first !== undefined) to.animate([first, { translate: "0 0", scale: "1", opacity: 1 }], { id: "arrival", duration: arrivalTime, easing: "cubic-bezier(0.2, 0, 0, 1)" });
}

/** The place of the entry of an agent's task: in the graph of its plan, else in the dock. */
function entryOf(role: string): Box | undefined {
  const todo = planTodo(role);
  const inPlan = todo === undefined ? null : document.querySelector(`[data-todo="${CSS.escape(todo)}"]`);
  return (inPlan ?? document.querySelector(`[data-agent="${CSS.escape(role)}"]`))?.getBoundingClientRect();
}

/** How many frames a window may take until it is drawn, and then the entry of its agent: the first event of an agent may make a window. */
const mostFrames = 30;
const entryFrames = 3;

function showWindowArrival(from: Box | undefined, role: string, window: string, frames = mostFrames): void {
  requestAnimationFrame(() => {
    const entry = from ?? entryOf(role); // kept, because the agent may end before the window is drawn
    const box = document.querySelector<HTMLElement>(`.win${window}:not([data-hidden]) .win-box`);
    if (box !== null && entry !== undefined) showArrival(entry, box);
    else if (frames > 1) showWindowArrival(entry, role, window, box === null ? frames - 1 : Math.min(frames - 1, entryFrames));
  });
}

/** Shows how the windows that a task creates come from its entry. */
export function showWindowArrivals({ actions, agentId, monitorId }: Actions): void {
  if (agentId === undefined || kindOfRole(agentId) !== "task") return;
  const created = actions.flatMap((a) => (a.type === "window.create" ? [a.windowId] : []));
  const from = created.length === 0 ? undefined : entryOf(agentId);
  const on = monitorId === undefined ? "" : `[data-monitor-id="${CSS.escape(monitorId)}"]`;
  for (const id of created) showWindowArrival(from, agentId, `[data-window-id="${CSS.escape(id)}"]${on}`);
}
