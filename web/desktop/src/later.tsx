// Parts of the page that a first visit does not need before it can be looked at. Each is loaded when it is first drawn.

import { lazy } from "react";

export const Drawer = lazy(async () => ({ default: (await import("./drawer/index.js")).Drawer }));
export const Tour = lazy(async () => ({ default: (await import("./tour/index.js")).Tour }));
export const Phone = lazy(async () => ({ default: (await import("./phone/index.js")).Phone }));
export const Panels = lazy(async () => ({ default: (await import("./sessions/index.js")).Panels }));
