import { Bell, CircleAlert, CircleCheck, Info, TriangleAlert, X } from "lucide-react";
import { type ReactNode, useEffect, useRef, useState } from "react";
import type { NoticeVariant } from "../../../core/src/index.js";
import { useTexts } from "../i18n/use.js";
import { notices as texts } from "../texts/notices.js";
import { Button, IconButton } from "../ui/button.js";

interface ToastProps {
  tone: NoticeVariant | "bell";
  title?: string;
  text: string;
  /** How long it is shown, in ms; the time stops while it is hovered or focused. */
  ms: number;
  action?: { label: string; press: () => void };
  /** Called when its time is over. */
  onEnd: () => void;
  onDismiss: () => void;
  /** Attributes that identify it in the document. */
  data: { "data-toast-id"?: string; "data-notice"?: number; "data-banner"?: string };
}

const icons = { info: Info, success: CircleCheck, warning: TriangleAlert, error: CircleAlert, bell: Bell };

/** A short message that disappears by itself. */
export function Toast({ tone, title, text, ms, action, onEnd, onDismiss, data }: ToastProps): ReactNode {
  const t = useTexts(texts);
  const [pointed, setPointed] = useState(false);
  const [focused, setFocused] = useState(false);
  useCountdown(ms, pointed || focused, onEnd);
  const Icon = icons[tone];
  return (
    <li
      className={`notices-toast notices-toast-${tone}`}
      onPointerEnter={() => setPointed(true)}
      onPointerLeave={() => setPointed(false)}
      onFocus={() => setFocused(true)}
      onBlur={() => setFocused(false)}
      onKeyDown={(e) => {
        if (e.key !== "Escape") return;
        e.stopPropagation();
        onDismiss();
      }}
      {...data}
    >
      <Icon size={16} aria-hidden className="notices-toast-icon" />
      <div className="notices-toast-text">
        <span className="hidden-text">{tone === "bell" ? t.new : t[tone]}</span>
        {title !== undefined && title !== "" && <strong>{title}</strong>}
        <p>{text}</p>
        {action !== undefined && (
          <Button size="sm" className="notices-toast-action" onClick={action.press}>
            {action.label}
          </Button>
        )}
      </div>
      <IconButton icon={X} size={14} label={t.dismiss} onClick={onDismiss} />
    </li>
  );
}

/** Calls end after ms; the time stops while held. */
function useCountdown(ms: number, held: boolean, end: () => void): void {
  const left = useRef(ms);
  const latest = useRef(end);
  latest.current = end;
  useEffect(() => {
    if (held) return;
    const began = performance.now();
    const timer = setTimeout(() => latest.current(), left.current);
    return () => {
      clearTimeout(timer);
      // After being held it stays for at least a second more.
      left.current = Math.max(1_000, left.current - (performance.now() - began));
    };
  }, [held]);
}
