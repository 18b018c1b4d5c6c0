import "./sessions.css";
import type { ReactNode } from "react";
import { useShell } from "../shell/context.js";
import { ConnectPanel } from "./connect.js";
import { JoinPanel } from "./join.js";
import { SessionsPanel } from "./sessions.js";
import { SettingsPanel } from "./settings.js";

/** The panels for sessions, settings, providers and joining. */
export function Panels(): ReactNode {
  const panel = useShell((s) => s.panel);
  switch (panel) {
    case "sessions":
      return <SessionsPanel />;
    case "settings":
      return <SettingsPanel />;
    case "connect":
      return <ConnectPanel />;
    case "join":
      return <JoinPanel />;
    default:
      return null;
  }
}
