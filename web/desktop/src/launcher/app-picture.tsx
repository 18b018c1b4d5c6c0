import { AppWindow } from "lucide-react";
import { type ReactNode, useState } from "react";
import { type App, useAllApps } from "../canvas/apps.js";
import { useShell } from "../shell/context.js";

/** The path of an app's own icon, for apps that were deployed again. */
const iconPath = /^\/api\/apps\/([a-z0-9-]+)\/icon(\?v=[0-9]+)?$/;

/** The same of an app of the market. */
const offerPath = /^\/api\/market\/[a-z0-9-]+\/icon$/;

/** The picture of an app or an offer of the market: its own one, its emoji, or a window. */
export function AppPicture({ app: a, fallback = <AppWindow size={24} aria-hidden /> }: { app: Pick<App, "icon" | "iconType">; fallback?: ReactNode }): ReactNode {
  const [broken, setBroken] = useState("");
  const session = useShell((st) => st.session);
  const icon = a.icon ?? "";
  const path = iconPath.exec(icon);
  if (a.iconType === "image" && (path !== null || offerPath.test(icon)) && broken !== icon) {
    const source = path === null ? icon : `/api/sessions/${encodeURIComponent(session)}/apps/${path[1]}/icon${path[2] ?? ""}`;
    return <img src={source} alt="" draggable={false} onError={() => setBroken(icon)} />;
  }
  if (a.iconType === "emoji" && icon !== "") return <span aria-hidden>{icon}</span>;
  return fallback;
}

/** The picture of an installed app. */
export function InstalledPicture({ id, fallback }: { id: string; fallback: ReactNode }): ReactNode {
  const app = useAllApps().find((a) => a.id === id);
  return app === undefined ? fallback : <AppPicture app={app} fallback={fallback} />;
}
