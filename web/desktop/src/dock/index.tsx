import "./dock.css";
import { LayoutGrid } from "lucide-react";
import { type CSSProperties, lazy, type ReactNode, Suspense } from "react";
import { useTexts } from "../i18n/use.js";
import { useCommands, useShell } from "../shell/context.js";
import { useMonitor, useWindows } from "../shell/select.js";
import { dock as texts } from "../texts/entry.js";
import { IconButton } from "../ui/button.js";
import { workingAgents } from "./agents.js";
import { CommandBar } from "./command-bar.js";
import { AgentPills, pillWidth } from "./pills.js";

export { CommandBar } from "./command-bar.js";

/** The usual width of a minimised window, in px. */
const usualEntry = 156;
/** The space that the button of the overview needs, in px. */
const overviewWidth = 40;

/** Opens the overview, once there are windows to choose from. */
function OverviewButton(): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const some = useWindows(useMonitor()).length > 0;
  return some && <IconButton icon={LayoutGrid} size={16} label={t.overview} className="dock-overview" onClick={() => commands.runOnWindows?.("overview")} />;
}

const MinimisedWindows = lazy(async () => ({ default: (await import("./minimised.js")).MinimisedWindows }));
const PinnedApps = lazy(async () => ({ default: (await import("../launcher/pinned.js")).PinnedApps }));

export function Dock(): ReactNode {
  const windows = useWindows(useMonitor()).filter((w) => w.minimized === true).length;
  const agents = useShell((s) => workingAgents(s.desktop.agents).length);
  const want = { "--windows-want": `${overviewWidth + windows * usualEntry}px`, "--agents-want": `${agents * pillWidth}px` } as CSSProperties;
  return (
    <div className="dock" style={want}>
      <div className="dock-left">
        <OverviewButton />
        <Suspense>
          <MinimisedWindows />
        </Suspense>
      </div>
      <div className="dock-centre">
        <Suspense fallback={<span className="dock-launcher" />}>
          <PinnedApps />
        </Suspense>
        <CommandBar />
      </div>
      <AgentPills />
    </div>
  );
}
