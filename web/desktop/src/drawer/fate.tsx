import { Check, CircleAlert, CircleSlash, Clock, CornerDownRight, LoaderCircle, type LucideIcon, Send } from "lucide-react";
import type { ReactNode } from "react";
import { type Fate, isStoreless } from "../../../core/src/index.js";
import { useTexts } from "../i18n/use.js";
import { useLasting } from "../shell/clock.js";
import { useShell } from "../shell/context.js";
import { drawer as texts } from "../texts/parts.js";

export const fateIcons: Record<Fate, LucideIcon> = {
  sending: Send,
  queued: Clock,
  accepted: Check,
  steered: CornerDownRight,
  ephemeral: Check,
  running: LoaderCircle,
  done: Check,
  completed: Check,
  failed: CircleAlert,
  interrupted: CircleSlash,
  ended: Check,
  rejected: CircleAlert,
};

/** Whether all went well and is over, which needs no line of its own. */
export function isOver(fate: Fate): boolean {
  return fate === "done" || fate === "completed" || fate === "ended";
}

/** A hub that has not kept a message by then cannot for some reason, in ms. */
const slowAfter = 3_000;

/** What became of a message, in words. */
export function useFateText(fate: Fate, position: number | undefined): string {
  const t = useTexts(texts);
  const offline = useShell((s) => s.link.phase !== "live");
  const storeless = useShell((s) => isStoreless(s.link));
  const slow = useLasting(fate === "sending" && !offline, slowAfter);
  if (fate === "queued") return position === undefined ? t.queuedSomewhere : t.queued(position);
  if (fate !== "sending") return t[fate];
  if (storeless) return t.sendingStoreless;
  return offline ? t.sendingOffline : slow ? t.sendingSlowly : t.sending;
}

export function OverMark({ fate }: { fate: Fate }): ReactNode {
  const text = useFateText(fate, undefined);
  return (
    <span className="drawer-over" title={text}>
      <Check size={12} aria-hidden />
      <span className="hidden-text">{text}</span>
    </span>
  );
}
