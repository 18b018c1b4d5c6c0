import { type ReactNode, useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { ShownNotification } from "../../../core/src/index.js";
import { useTexts } from "../i18n/use.js";
import { useCommands, useHubClock, useShell } from "../shell/context.js";
import { notices as texts } from "../texts/notices.js";
import { Toast } from "./toast.js";
import { displayTime, expiredToasts, showingKey, visibleNotices } from "./visible-notices.js";

/** Notices of this tab, toasts and new notifications, above the dock and beside the conversation. */
export function Stack(): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const hub = useHubClock();
  const notices = useShell((s) => s.notices);
  const toasts = useShell((s) => s.desktop.toasts);
  const [hidden, setHidden] = useState<ReadonlySet<string>>(() => new Set(expiredToasts(toasts.values(), hub.now())));
  const banners = useBanners();
  const stack = useRef<HTMLOListElement>(null);
  useStackMargins(stack);

  const hide = useCallback((showing: string) => setHidden((g) => new Set([...g, showing].slice(-500))), []);
  const visible = useMemo(() => visibleNotices(toasts.values(), hidden), [toasts, hidden]);
  return (
    <ol ref={stack} className="notices-stack" aria-label={t.notices} aria-live="polite" aria-relevant="additions">
      {banners.shown.map((n) => (
        <Toast
          key={`banner ${showingKey(n)}`}
          tone="bell"
          title={n.title}
          text={n.body}
          ms={displayTime(n.duration, "notification")}
          action={{ label: t.open, press: () => commands.openPanel("notifications") }}
          onEnd={() => banners.hide(n)}
          onDismiss={() => {
            banners.hide(n);
            commands.dismissNotification(n.id);
          }}
          data={{ "data-banner": n.id }}
        />
      ))}
      {visible.map((toast) => {
        const showing = showingKey(toast);
        const { action } = toast;
        return (
          <Toast
            key={showing}
            tone={toast.variant ?? "info"}
            text={toast.message}
            ms={displayTime(toast.duration, "toast")}
            action={
              action === undefined
                ? undefined
                : {
                    label: action.label,
                    press: () => {
                      commands.pressToast(toast.id, action.eventId);
                      commands.notify(t.pressed, "success");
                      hide(showing);
                    },
                  }
            }
            onEnd={() => hide(showing)}
            onDismiss={() => {
              commands.dismissToast(toast.id);
              hide(showing);
            }}
            data={{ "data-toast-id": toast.id }}
          />
        );
      })}
      {notices.map((n) => (
        <Toast
          key={`notice ${n.id}`}
          tone={n.tone}
          text={n.text}
          ms={n.until - Date.now()}
          action={
            n.action === undefined
              ? undefined
              : {
                  label: n.action.label,
                  press: () => {
                    commands.dropNotice(n.id);
                    n.action?.press();
                  },
                }
          }
          onEnd={() => commands.dropNotice(n.id)}
          onDismiss={() => commands.dropNotice(n.id)}
          data={{ "data-notice": n.id }}
        />
      ))}
    </ol>
  );
}

/** The notifications that arrived after this page was loaded, until their time is over. */
function useBanners(): { shown: ShownNotification[]; hide: (n: ShownNotification) => void } {
  const ready = useShell((s) => s.ready);
  const all = useShell((s) => s.desktop.notifications);
  const panel = useShell((s) => s.panel);
  // Notifications from before the first state, and those that the centre has shown, get no banner.
  const [old, setOld] = useState<ReadonlySet<string>>();
  const inCentre = panel === "notifications";
  if (ready && (old === undefined || (inCentre && visibleNotices(all.values(), old).length > 0))) setOld(new Set([...all.values()].map(showingKey)));
  const hide = useCallback((n: ShownNotification) => setOld((o) => new Set([...(o ?? []), showingKey(n)].slice(-500))), []);
  const shown = useMemo(() => (old === undefined || inCentre ? [] : visibleNotices(all.values(), old).slice(-2)), [all, old, inCentre]);
  return { shown, hide };
}

/** Keeps the stack clear of the dock and the conversation, whose sizes change. */
function useStackMargins(stack: { current: HTMLElement | null }): void {
  const drawer = useShell((s) => s.view.drawer);
  useEffect(() => {
    const el = stack.current;
    const regions = ["dock", "drawer"].map((name) => document.querySelector(`[data-region=${name}]`));
    const measure = (): void => {
      const [dock, side] = regions.map((r) => r?.getBoundingClientRect());
      el?.style.setProperty("--notices-bottom", `${dock?.height ?? 0}px`);
      el?.style.setProperty("--notices-end", `${side?.width ?? 0}px`);
    };
    const observer = new ResizeObserver(measure);
    for (const r of regions) if (r !== null) observer.observe(r);
    measure();
    return () => observer.disconnect();
  }, [stack, drawer]);
}
