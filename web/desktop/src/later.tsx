// Parts of the page that a first visit does not need before it can be looked at. Each is fetched when it is first drawn,
// or soon after the page has begun: what is not here when the hub goes away cannot be fetched then.

import { lazy } from "react";

const fetchAsks = () => import("./asks/index.js");
const fetchCentre = () => import("./notices/centre.js");
const fetchDrawer = () => import("./drawer/index.js");
const fetchIcons = () => import("./canvas/icons.js");
const fetchNotices = () => import("./notices/index.js");
const fetchPanels = () => import("./sessions/index.js");
const fetchPlans = () => import("./plan/index.js");
const fetchPhone = () => import("./phone/index.js");
const fetchTabCard = () => import("./topbar/tab-card.js");
const fetchTour = () => import("./tour/index.js");

export const Asks = lazy(async () => ({ default: (await fetchAsks()).Asks }));
export const Centre = lazy(async () => ({ default: (await fetchCentre()).Centre }));
export const Drawer = lazy(async () => ({ default: (await fetchDrawer()).Drawer }));
export const Icons = lazy(async () => ({ default: (await fetchIcons()).Icons }));
export const Invitation = lazy(async () => ({ default: (await import("./invitation.js")).Invitation }));
export const Notices = lazy(async () => ({ default: (await fetchNotices()).Notices }));
export const Panels = lazy(async () => ({ default: (await fetchPanels()).Panels }));
export const PlanChip = lazy(async () => ({ default: (await fetchPlans()).PlanChip }));
export const Plans = lazy(async () => ({ default: (await fetchPlans()).Plans }));
export const LastFate = lazy(async () => ({ default: (await import("./dock/last-fate.js")).LastFate }));
export const Phone = lazy(async () => ({ default: (await fetchPhone()).Phone }));
export const TabCard = lazy(async () => ({ default: (await fetchTabCard()).TabCard }));
export const Tour = lazy(async () => ({ default: (await fetchTour()).Tour }));

/** What is wanted first comes first. Who has a narrow page now may have a wide one later. */
const parts: (() => Promise<unknown>)[] = [
  fetchAsks,
  fetchDrawer,
  fetchNotices,
  fetchPlans,
  () => import("./dock/last-fate.js"),
  () => import("./content/markdown/view.js"),
  () => import("./content/layout/index.js"),
  () => import("./content/table.js"),
  () => import("./content/stage/index.js"),
  () => import("./content/frame.js"),
  () => import("./history/rewind-dialog.js"),
  () => import("./history/search-bar.js"),
  () => import("./history/task-panel.js"),
  () => import("./plan/source.js"),
  fetchPanels,
  fetchCentre,
  fetchIcons,
  fetchTabCard,
  fetchTour,
  fetchPhone,
];

/** Fetches all of it, one after the other. */
export async function fetchAll(): Promise<void> {
  for (const part of parts) await part().catch(() => undefined); // it is tried again when it is drawn
}
