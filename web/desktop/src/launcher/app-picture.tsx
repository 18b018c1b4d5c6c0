import { AppWindow } from "lucide-react";
import { type ReactNode, useState } from "react";
import type { App } from "../canvas/apps.js";
import { useShell } from "../shell/context.js";

/** The path of an app's own icon, for apps that were deployed again. */
const iconPath = /^\/api\/apps\/([a-z0-9-]+)\/icon(\?v=[0-9]+)?$/;

/** The picture of an app: its own one, its emoji, or a window. */
export function AppPicture({ app: a }: { app: App }): ReactNode {
  const [broken, setBroken] = useState("");
  const session = useShell((st) => st.session);
  const path = iconPath.exec(a.icon ?? "");
  if (a.iconType === "image" && path !== null && broken !== a.icon) {
    const source = `/api/sessions/${encodeURIComponent(session)}/apps/${path[1]}/icon${path[2] ?? ""}`;
    return <img src={source} alt="" draggable={false} onError={() => setBroken(a.icon ?? "")} />;
  }
  if (a.iconType === "emoji" && a.icon !== undefined && a.icon !== "") return <span aria-hidden>{a.icon}</span>;
  return <AppWindow size={24} aria-hidden />;
}
