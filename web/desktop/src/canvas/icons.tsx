import { ExternalLink, File, Sparkles } from "lucide-react";
import { type ReactNode, useMemo, useState } from "react";
import type { Bounds, Shortcut } from "../../../core/src/index.js";
import { pictureSource } from "../content/addresses.js";
import { LeaveDialog } from "../content/leave-dialog.js";
import { useTexts } from "../i18n/use.js";
import { useCommands, useShell } from "../shell/context.js";
import { useMonitor } from "../shell/select.js";
import { canvas as texts } from "../texts/entry.js";
import { gap } from "./geometry.js";
import { clickText } from "./icon.js";

/** The icons on the desktop, below the windows and between the panels. */
export function Icons({ area }: { area: Bounds }): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const monitor = useMonitor();
  const shortcuts = useShell((s) => s.desktop.shortcuts);
  const [leaving, setLeaving] = useState<string>();
  const sorted = useMemo(() => [...shortcuts.values()].sort((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1)), [shortcuts]);
  if (sorted.length === 0) return null;

  const open = (s: Shortcut): void => {
    if (s.osActions !== undefined && s.osActions.length > 0) {
      commands.send("EMIT", { actions: s.osActions, monitorId: monitor });
    } else if (s.type === "url") {
      setLeaving(s.target);
    } else {
      const timestamp = Date.now();
      const sent = commands.send("USER_MESSAGE", {
        content: clickText(s),
        monitorId: monitor,
        interactions: [{ type: "icon.click", timestamp, details: s.id }],
      });
      if (sent === undefined) commands.notify(t.tooMuch, "warning");
      else commands.notify(t.started(s.label));
    }
  };
  return (
    <>
      <nav className="win-icons" aria-label={t.icons} style={{ top: area.y + gap, height: Math.max(0, area.h - 2 * gap) }}>
        {sorted.map((s) => (
          <Icon key={s.id} shortcut={s} onOpen={() => open(s)} />
        ))}
      </nav>
      {leaving !== undefined && <LeaveDialog address={leaving} onClose={() => setLeaving(undefined)} />}
    </>
  );
}

function Icon({ shortcut: s, onOpen }: { shortcut: Shortcut; onOpen: () => void }): ReactNode {
  const t = useTexts(texts);
  const count = useShell((st) => st.desktop.badges.get(s.target) ?? 0);
  return (
    <button type="button" className="win-icon" data-shortcut-id={s.id} title={s.label} onClick={onOpen}>
      <span className="win-icon-picture">
        <Picture shortcut={s} />
        {count > 0 && (
          <span className="win-icon-count">
            <span aria-hidden>{count > 99 ? "99+" : count}</span>
            <span className="hidden-text">{t.opens(count)}</span>
          </span>
        )}
      </span>
      <span className="win-icon-label">{s.label}</span>
    </button>
  );
}

function Picture({ shortcut: s }: { shortcut: Shortcut }): ReactNode {
  const [broken, setBroken] = useState(false);
  const session = useShell((st) => st.session);
  const source = s.iconType === "image" ? pictureSource(s.icon, session) : undefined;
  if (source !== undefined && !broken) return <img src={source} alt="" draggable={false} onError={() => setBroken(true)} />;
  if (s.iconType !== "image" && s.icon !== "" && [...s.icon].length <= 8) return <span aria-hidden>{s.icon}</span>;
  const Fallback = s.type === "url" ? ExternalLink : s.type === "file" ? File : Sparkles;
  return <Fallback size={24} aria-hidden />;
}
