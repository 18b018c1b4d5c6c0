import { AppWindow, FileText } from "lucide-react";
import { type ReactNode, useContext } from "react";
import { type MonitorID, windowKey } from "../../../core/src/index.js";
import { escapeInvisible } from "../asks/invisible.js";
import type { PlanThings } from "../drawer/plan-ends.js";
import { openFile } from "../files/open.js";
import { baseName } from "../files/paths.js";
import { useTexts } from "../i18n/use.js";
import { ShellContext, useShell } from "../shell/context.js";
import { dock as windowTexts } from "../texts/entry.js";
import { plan as texts } from "../texts/plan.js";
import { Button } from "../ui/button.js";

/** The most buttons of each kind. */
const most = 12;

/** The files and windows that a plan made, each as a button that opens it. Windows that were closed are left out. */
export function Things({ windows, files, monitor }: PlanThings & { monitor: MonitorID }): ReactNode {
  const t = useTexts(texts);
  const { untitled } = useTexts(windowTexts);
  const services = useContext(ShellContext);
  const all = useShell((s) => s.desktop.windows);
  const open = windows.flatMap(({ id }) => all.get(windowKey(monitor, id)) ?? []).slice(-most);
  if (open.length + files.length === 0) return null;
  return (
    <div className="plan-things" role="group" aria-label={t.things}>
      {open.map((w) => (
        <Button key={w.windowId} size="sm" icon={AppWindow} title={t.openWindow} data-thing={w.windowId} onClick={() => services!.commands.focusWindow(w)}>
          {escapeInvisible(w.title || untitled)}
        </Button>
      ))}
      {files.slice(-most).map((path) => (
        <Button key={path} size="sm" icon={FileText} title={escapeInvisible(path)} data-thing={path} onClick={() => openFile(services!.commands, services!.store.getState(), path)}>
          {escapeInvisible(baseName(path))}
        </Button>
      ))}
    </div>
  );
}
