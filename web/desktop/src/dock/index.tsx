import "./dock.css";
import type { ReactNode } from "react";
import { CommandBar } from "./command-bar.js";
import { MinimisedWindows } from "./minimised.js";
import { AgentPills } from "./pills.js";

export { CommandBar } from "./command-bar.js";

export function Dock(): ReactNode {
  return (
    <div className="dock">
      <MinimisedWindows />
      <div className="dock-centre">
        <CommandBar />
      </div>
      <AgentPills />
    </div>
  );
}
