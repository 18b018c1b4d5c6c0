import { limits, type MonitorID } from "../../../core/src/index.js";
import { useTexts } from "../i18n/use.js";
import { useCommands, useShell } from "../shell/context.js";
import { dock as texts } from "../texts/entry.js";
import type { Slash } from "./slash.js";

/** Runs a slash command. Commands that need a confirmation are passed to `ask`. */
export function useRunSlash(monitor: MonitorID, ask: (what: "reset") => void): (slash: Slash) => void {
  const t = useTexts(texts);
  const commands = useCommands();
  const monitors = useShell((s) => s.desktop.monitors);
  const pinned = useShell((s) => s.view.pinned);

  const goTo = (number: number): void => {
    const id: MonitorID = `monitor-${number - 1}`;
    if (pinned) return commands.notify(t.pinnedHere, "warning");
    if (!monitors.has(id)) {
      if (monitors.size >= limits.monitors) return commands.notify(t.noSuchMonitor, "warning");
      return commands.makeMonitor(id);
    }
    commands.showMonitor(id);
  };

  return (slash) => {
    switch (slash.name) {
      case "stop":
        return slash.all ? commands.stopAll() : commands.stopMonitor(monitor);
      case "plan":
        return commands.showPlan(true);
      case "condense":
        return commands.condense(monitor);
      case "reset":
        return ask("reset");
      case "new":
        commands.newSession(slash.title).catch(() => commands.notify(t.newFailed, "error"));
        return;
      case "monitor":
        return goTo(slash.number);
      case "provider":
        return commands.setProvider(slash.provider);
      case "mode":
        return commands.setMode(slash.mode);
      case "theme":
        return commands.setPrefs({ theme: slash.theme });
      case "language":
        return commands.setPrefs({ language: slash.language });
      case "checkpoints":
        commands.send("SET_CHECKPOINTS", { enabled: slash.on, monitorId: monitor });
        return;
      default:
        return commands.openPanel(slash.name);
    }
  };
}
