// Opens files with apps that declare their extensions.

import { AppWindow } from "lucide-react";
import { type ReactNode, useContext } from "react";
import { shownMonitor } from "../../../core/src/index.js";
import { type App, type FileAssociation, openApp } from "../canvas/apps.js";
import { appCommandsOf } from "../content/app-frame/app-commands.js";
import { useTexts } from "../i18n/use.js";
import { AppPicture } from "../launcher/app-picture.js";
import type { Page } from "../shell/boot.js";
import { PageContext, ShellContext } from "../shell/context.js";
import { files as texts } from "../texts/files.js";
import { IconButton } from "../ui/button.js";
import { Menu, MenuItem } from "../ui/menu.js";
import { reasonOf } from "./api.js";
import { contentOf } from "./bytes.js";
import { listOf } from "./known.js";
import { baseName, sizeText } from "./paths.js";

/** The largest file that is given to an app, in bytes. */
const mostForApp = 20 << 20;

/** An app that opens a file, and how. */
export interface Opener {
  readonly app: App;
  readonly by: FileAssociation;
}

/** The apps that declare the extension of a file. */
export function openersOf(path: string, apps: readonly App[]): Opener[] {
  const name = baseName(path).toLowerCase();
  return apps.flatMap((app) => {
    const by = app.fileAssociations?.find((a) => a.extensions.some((e) => name.endsWith(e.startsWith(".") ? e.toLowerCase() : `.${e.toLowerCase()}`)));
    return by === undefined ? [] : [{ app, by }];
  });
}

/** Opens the app in a window and gives it the content of the file. */
export async function openWith(page: Page, path: string, { app, by }: Opener): Promise<void> {
  const { store, commands } = page;
  const t = texts[store.getState().language];
  const name = baseName(path);
  const failed = (reason: string): void => commands.notify(t.notOpenedWith(name, app.name, reason), "warning");
  try {
    const file = await listOf(page).api.read(path, mostForApp);
    if (file.size > mostForApp) return commands.notify(t.tooLarge(sizeText(file.size)), "warning");
    const { view, desktop } = store.getState();
    const monitor = shownMonitor(view, desktop);
    commands.send("EMIT", { actions: [openApp(app, monitor, desktop.windows.values())], monitorId: monitor });
    commands.showPhonePage("windows");
    const params = { name, [by.paramKey]: contentOf(path, file.data) };
    appCommandsOf(page).send({ app: app.id, monitor, command: by.command, params, onFailed: failed });
  } catch (error) {
    failed(reasonOf(error));
  }
}

/** The menu with the apps that open a file; nothing if there are none. */
export function OpenWith({ path, apps }: { path: string; apps: readonly App[] }): ReactNode {
  const t = useTexts(texts);
  const page = useContext(PageContext);
  const shell = useContext(ShellContext);
  const openers = openersOf(path, apps);
  if (page === undefined || shell === undefined || openers.length === 0) return null;
  const label = t.openWith(baseName(path));
  return (
    <Menu label={label} align="end" trigger={(trigger) => <IconButton icon={AppWindow} size={14} label={label} {...trigger} />}>
      {(close) =>
        openers.map((o) => (
          <MenuItem
            key={o.app.id}
            icon={<AppPicture app={o.app} />}
            onSelect={() => {
              close();
              void openWith(page, path, o);
            }}
          >
            {o.app.name}
          </MenuItem>
        ))
      }
    </Menu>
  );
}
