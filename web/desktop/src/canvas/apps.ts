// The apps of the session's owner: their icons on the desktop and the windows that they open.

import { useContext, useMemo, useSyncExternalStore } from "react";
import type { Action, MonitorID, SessionID, WindowState } from "../../../core/src/index.js";
import { appOf } from "../content/addresses.js";
import { refreshesApps } from "../content/app-frame/storage.js";
import type { Api } from "../shell/api.js";
import type { Page } from "../shell/boot.js";
import { PageContext } from "../shell/context.js";

/** An app as the hub lists it. */
export interface App {
  id: string;
  name: string;
  /** An emoji, or the path of a picture. */
  icon?: string;
  iconType?: string;
  description?: string;
  hidden?: boolean;
  variant?: "standard" | "widget" | "panel";
  dockEdge?: "top" | "bottom";
  frameless?: boolean;
  width?: number;
  height?: number;
  /** The commands that open files with some extensions. */
  fileAssociations?: FileAssociation[];
  url: string;
}

export interface FileAssociation {
  extensions: string[];
  command: string;
  /** The parameter that gets the content of the file. */
  paramKey: string;
}

/** All apps of the session's owner. */
export async function listApps(api: Pick<Api, "fileText">, session: SessionID): Promise<App[]> {
  return (JSON.parse(await api.fileText(`/api/sessions/${encodeURIComponent(session)}/apps`)) as { apps: App[] }).apps;
}

/** The apps of the session as a page knows them: read once for all parts that show them, and again when an agent changed them. */
class AppList {
  private apps: readonly App[] = [];
  private reads = 0;
  private readonly page: Page;
  private readonly watchers = new Set<() => void>();

  constructor(page: Page) {
    this.page = page;
    page.listen((e) => {
      if (refreshesApps(e)) void this.read();
    });
    void this.read();
  }

  get = (): readonly App[] => this.apps;

  watch = (changed: () => void): (() => void) => {
    this.watchers.add(changed);
    return () => this.watchers.delete(changed);
  };

  private async read(): Promise<void> {
    const read = ++this.reads;
    const { commands, store } = this.page;
    const all = await listApps(commands.api, store.getState().session).catch(() => this.apps);
    if (read !== this.reads) return;
    this.apps = all;
    for (const changed of this.watchers) changed();
  }
}

const lists = new WeakMap<Page, AppList>();

function listOf(page: Page): AppList {
  const list = lists.get(page) ?? new AppList(page);
  lists.set(page, list);
  return list;
}

const none: readonly App[] = [];
const noWatch = (): (() => void) => () => undefined;
const getNone = (): readonly App[] => none;

/** All apps of the session, also those without an icon. Outside of a page there are none. */
export function useAllApps(): readonly App[] {
  const page = useContext(PageContext);
  const list = page === undefined ? undefined : listOf(page);
  return useSyncExternalStore(list?.watch ?? noWatch, list?.get ?? getNone);
}

/** The apps that have an icon. */
export function useApps(): readonly App[] {
  const all = useAllApps();
  return useMemo(() => all.filter((a) => a.hidden !== true), [all]);
}

/** The action that opens an app, or that brings its window to the front. */
export function openApp(app: App, monitor: MonitorID, windows: Iterable<WindowState>): Action {
  const here = [...windows].filter((w) => w.monitorId === monitor);
  const open = here.find((w) => w.content.renderer === "iframe" && appOf(addressOf(w.content.data)) === app.id);
  if (open !== undefined) return { type: "window.focus", windowId: open.windowId };
  const shift = (here.length % 8) * 32;
  return {
    type: "window.create",
    windowId: `app-${app.id}`.slice(0, 64),
    title: app.name,
    bounds: { x: 120 + shift, y: 80 + shift, w: app.width ?? 500, h: app.height ?? 400 },
    content: { renderer: "iframe", data: app.url },
    ...(app.variant === undefined ? {} : { variant: app.variant }),
    ...(app.dockEdge === undefined ? {} : { dockEdge: app.dockEdge }),
    ...(app.frameless === true ? { frameless: true } : {}),
  };
}

function addressOf(source: string | { url: string }): string {
  return typeof source === "string" ? source : source.url;
}

/** The largest document of a window that can be pinned, in characters, so that the icon fits into a message. */
const maxPinned = 40_000;

/** The action that puts an icon on the desktop which opens a window again; undefined if it cannot. */
export function pinWindow(w: WindowState, apps: readonly App[], now: number): Action | undefined {
  const { content } = w;
  const app = content.renderer === "iframe" ? appOf(addressOf(content.data)) : undefined;
  if (app === undefined && (content.renderer !== "html" || content.data.length > maxPinned)) return undefined;
  const known = apps.find((a) => a.id === app);
  const picture = known?.iconType === "image";
  return {
    type: "desktop.createShortcut",
    shortcut: {
      id: `pin-${w.windowId}`.slice(0, 64),
      label: w.title,
      icon: picture ? `/api/apps/${app}/icon` : (known?.icon ?? "📌"),
      iconType: picture ? "image" : "emoji",
      type: "action",
      target: app ?? w.windowId,
      osActions: [{ type: "window.create", windowId: w.windowId, title: w.title, bounds: w.bounds, content }],
      createdAt: now,
    },
  };
}
