import "./sessions.css";
import { lazy, type ReactNode, Suspense } from "react";
import { DomainsPanel } from "../domains/panel.js";
import { LauncherPanel } from "../launcher/panel.js";
import { ConnectPanel } from "../models/panel.js";
import { ModesPanel } from "../modes/panel.js";
import { ServersPanel } from "../servers/panel.js";
import { useCommands, useShell } from "../shell/context.js";
import { AlonePanel } from "./alone.js";
import { JoinPanel } from "./join.js";
import { ProgramsPanel } from "./programs.js";
import { SessionsPanel } from "./sessions.js";
import { SettingsPanel } from "./settings.js";
import { SharePanel } from "./share.js";

const ComparePanel = lazy(async () => ({ default: (await import("../film/compare.js")).ComparePanel }));
const FilmPanel = lazy(async () => ({ default: (await import("../film/index.js")).FilmPanel }));

/** The panels for sessions, settings, providers, joining and programs. */
export function Panels(): ReactNode {
  const panel = useShell((s) => s.panel);
  const commands = useCommands();
  switch (panel) {
    case "sessions":
      return <SessionsPanel />;
    case "settings":
      return <SettingsPanel />;
    case "alone":
      return <AlonePanel />;
    case "connect":
      return <ConnectPanel />;
    case "modes":
      return <ModesPanel />;
    case "servers":
      return <ServersPanel />;
    case "domains":
      return <DomainsPanel />;
    case "join":
      return <JoinPanel />;
    case "programs":
      return <ProgramsPanel />;
    case "share":
      return <SharePanel />;
    case "launcher":
      return <LauncherPanel />;
    case "compare":
      return (
        <Suspense>
          <ComparePanel onClose={() => commands.openPanel("")} />
        </Suspense>
      );
    case "film":
      return (
        <Suspense>
          <FilmPanel />
        </Suspense>
      );
    default:
      return null;
  }
}
