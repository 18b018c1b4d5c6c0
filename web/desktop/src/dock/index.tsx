import "./dock.css";
import type { CSSProperties, ReactNode } from "react";
import { useShell } from "../shell/context.js";
import { useMonitor, useWindows } from "../shell/select.js";
import { workingAgents } from "./agents.js";
import { CommandBar } from "./command-bar.js";
import { MinimisedWindows, usualEntry } from "./minimised.js";
import { AgentPills, pillWidth } from "./pills.js";

export { CommandBar } from "./command-bar.js";

export function Dock(): ReactNode {
  const windows = useWindows(useMonitor()).filter((w) => w.minimized === true).length;
  const agents = useShell((s) => workingAgents(s.desktop.agents).length);
  const want = { "--windows-want": `${windows * usualEntry}px`, "--agents-want": `${agents * pillWidth}px` } as CSSProperties;
  return (
    <div className="dock" style={want}>
      <MinimisedWindows />
      <div className="dock-centre">
        <CommandBar />
      </div>
      <AgentPills />
    </div>
  );
}
