import { Grip } from "lucide-react";
import { type ReactNode, useContext } from "react";
import { openApp, useApps } from "../canvas/apps.js";
import { hueOf } from "../canvas/kind.js";
import { useTexts } from "../i18n/use.js";
import { ShellContext, useShell } from "../shell/context.js";
import { useMonitor } from "../shell/select.js";
import { launcher as texts } from "../texts/launcher.js";
import { AppPicture } from "./app-picture.js";
import "./launcher.css";

/** The button of the launcher and the pinned apps, beside the command bar. */
export function PinnedApps(): ReactNode {
  const t = useTexts(texts);
  const { store, commands } = useContext(ShellContext)!;
  const monitor = useMonitor();
  const pinned = useShell((s) => s.account?.pinnedApps);
  const apps = useApps();
  const shown = (pinned ?? []).flatMap((id) => apps.filter((a) => a.id === id));
  return (
    <div className="launcher-dock" role="group" aria-label={t.pinned}>
      <button type="button" className="launcher-pin" data-launcher title={t.title} aria-label={t.title} onClick={() => commands.togglePanel("launcher")}>
        <Grip size={18} aria-hidden />
      </button>
      {shown.map((a) => (
        <button
          key={a.id}
          type="button"
          className={`launcher-pin kind kind-${hueOf(a.id)}`}
          data-pinned-app={a.id}
          title={a.name}
          aria-label={a.name}
          onClick={() => commands.send("EMIT", { actions: [openApp(a, monitor, store.getState().desktop.windows.values())], monitorId: monitor })}
        >
          <AppPicture app={a} />
        </button>
      ))}
    </div>
  );
}
