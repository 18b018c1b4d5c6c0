import type { MonitorID } from "../../../core/src/index.js";
import { type App, openApp } from "../canvas/apps.js";
import { ApiError } from "../shell/api.js";
import type { Commands } from "../shell/commands.js";
import { hasAccount } from "../shell/select.js";
import type { Shell } from "../shell/shell.js";
import { boundsOf, type TemplateID, templateOf, windowsOf } from "./templates.js";

/** Installs an app of the market for the user; undefined if the hub does not have it or may not. */
export async function install(commands: Commands, app: string): Promise<App | undefined> {
  try {
    return await commands.api.ask<App>("PUT", `/api/apps/${encodeURIComponent(app)}`);
  } catch (error) {
    if (error instanceof ApiError) return undefined;
    throw error;
  }
}

/** The size of the canvas that this page shows. */
function canvasSize(): { w: number; h: number } {
  const canvas = document.querySelector("main");
  return { w: canvas?.clientWidth || innerWidth, h: canvas?.clientHeight || innerHeight - 110 };
}

/**
 * Opens a template on a monitor: its windows, its app and its instructions. An untitled session gets its title. Returns whether the
 * hub took the windows.
 */
export async function openTemplate(id: TemplateID, commands: Commands, shell: Shell, monitor: MonitorID): Promise<boolean> {
  const template = templateOf(id, shell.language);
  const canvas = canvasSize();
  if (commands.send("EMIT", { actions: windowsOf(template, canvas), monitorId: monitor }) === undefined) return false;
  if (!hasAccount(shell.me)) return true;
  if (shell.desktop.instructions === "") commands.send("SET_INSTRUCTIONS", { instructions: template.instructions });
  if ((shell.desktop.title ?? "") === "") void commands.rename(template.title).catch(() => undefined);
  const app = await install(commands, template.app);
  if (app === undefined) return true;
  const open = openApp(app, monitor, shell.desktop.windows.values());
  if (open.type === "window.create") open.bounds = boundsOf(template.appPlace, canvas);
  commands.send("EMIT", { actions: [{ type: "desktop.refreshApps" }, open], monitorId: monitor });
  return true;
}
