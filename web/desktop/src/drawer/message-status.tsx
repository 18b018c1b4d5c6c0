import { Check, CircleAlert, CircleSlash, Clock, CornerDownRight, LoaderCircle, type LucideIcon, Send } from "lucide-react";
import type { ReactNode } from "react";
import { isStoreFull, isStoreUnavailable, type MessageStatus } from "../../../core/src/index.js";
import { useTexts } from "../i18n/use.js";
import { useLasting } from "../shell/clock.js";
import { useShell } from "../shell/context.js";
import { drawer as texts } from "../texts/drawer.js";

export const statusIcons: Record<MessageStatus, LucideIcon> = {
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

/** Whether a message has ended without an error; that needs no status line. */
export function hasSucceeded(status: MessageStatus): boolean {
  return status === "done" || status === "completed" || status === "ended";
}

/** How long a message may take to be committed before the status says that the hub is slow, in ms. */
const slowAfter = 3_000;

/** The status of a message in words. */
export function useStatusText(status: MessageStatus, position: number | undefined): string {
  const t = useTexts(texts);
  const offline = useShell((s) => s.link.phase !== "live");
  const storeless = useShell((s) => isStoreUnavailable(s.link));
  const full = useShell((s) => isStoreFull(s.link));
  const slow = useLasting(status === "sending" && !offline, slowAfter);
  if (status === "queued") return position === undefined ? t.queuedSomewhere : t.queued(position);
  if (status !== "sending") return t[status];
  if (storeless) return full ? t.sendingFull : t.sendingStoreless;
  return offline ? t.sendingOffline : slow ? t.sendingSlowly : t.sending;
}

export function EndedMark({ status }: { status: MessageStatus }): ReactNode {
  const text = useStatusText(status, undefined);
  return (
    <span className="drawer-over" title={text}>
      <Check size={12} aria-hidden />
      <span className="hidden-text">{text}</span>
    </span>
  );
}
