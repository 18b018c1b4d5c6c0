// The parts of the page that the first paint does not need. Each is in a chunk of its own, which the browser fetches when the
// part is first drawn. prefetchParts fetches all chunks soon after the start, because the hub that serves them may be
// unreachable later.

import { lazy } from "react";

const importAsks = () => import("./asks/index.js");
const importFiles = () => import("./files/tray.js");
const importDrawer = () => import("./drawer/index.js");
const importNotices = () => import("./notices/index.js");
const importPanels = () => import("./sessions/index.js");
const importPlans = () => import("./plan/index.js");
const importPhone = () => import("./phone/index.js");
const importMessageForm = () => import("./canvas/message-form.js");
const importTour = () => import("./tour/index.js");

export const Asks = lazy(async () => ({ default: (await importAsks()).Asks }));
export const FileTray = lazy(async () => ({ default: (await importFiles()).FileTray }));
export const Drawer = lazy(async () => ({ default: (await importDrawer()).Drawer }));
export const Invitation = lazy(async () => ({ default: (await import("./invitation.js")).Invitation }));
export const Notices = lazy(async () => ({ default: (await importNotices()).Notices }));
export const Panels = lazy(async () => ({ default: (await importPanels()).Panels }));
export const Plans = lazy(async () => ({ default: (await importPlans()).Plans }));
export const Phone = lazy(async () => ({ default: (await importPhone()).Phone }));
export const WindowMessageForm = lazy(async () => ({ default: (await importMessageForm()).WindowMessageForm }));
export const Tour = lazy(async () => ({ default: (await importTour()).Tour }));

/** The chunks in the order in which they are likely to be needed. The phone layout is one of them: a wide page can become narrow. */
const chunks: (() => Promise<unknown>)[] = [
  importAsks,
  importDrawer,
  importNotices,
  importPlans,
  () => import("./launcher/pinned.js"),
  () => import("./dock/last-status.js"),
  () => import("./dock/slash-list.js"),
  () => import("./dock/reset-question.js"),
  () => import("./dock/thumbs.js"),
  () => import("./content/markdown/view.js"),
  () => import("./content/layout/index.js"),
  () => import("./content/table.js"),
  () => import("./content/chart/index.js"),
  () => import("./content/app-frame/index.js"),
  () => import("./content/iframe.js"),
  importFiles,
  () => import("./files/attach.js"),
  () => import("./files/open.js"),
  () => import("./files/browser.js"),
  () => import("./files/window.js"),
  () => import("./content/notebook/index.js"),
  () => import("./history/rewind-dialog.js"),
  () => import("./history/search-bar.js"),
  () => import("./history/task-panel.js"),
  () => import("./plan/source.js"),
  importPanels,
  () => import("./notices/centre.js"),
  () => import("./canvas/icons.js"),
  () => import("./canvas/cursors.js"),
  () => import("./canvas/arrival.js"),
  () => import("./canvas/windows-actions.js"),
  () => import("./canvas/menu.js"),
  () => import("./canvas/editor.js"),
  () => import("./canvas/versions.js"),
  () => import("./canvas/desktop-menu.js"),
  () => import("./canvas/overview.js"),
  importMessageForm,
  () => import("./canvas/apps.js"),
  () => import("./topbar/tab-card.js"),
  importTour,
  importPhone,
];

/** Fetches all chunks, one after the other. A chunk that fails is fetched again when its part is drawn. */
export async function prefetchParts(): Promise<void> {
  for (const importChunk of chunks) await importChunk().catch(() => undefined);
}
