// The core of the web desktop, without any framework: the rules of the desktop, the connection, the outbox, the tabs.

export * from "./client.js";
export { type Head, type HubEvent, type KnownEvent, type UnknownEvent, decodeEvent, decodeFrame } from "./event.js";
export { type Link, type Phase, patience } from "./link.js";
export { type Fate, type Outbox, type Sent, hasEnded, outboxLimits } from "./outbox.js";
export { comparePositions } from "./position.js";
export { apply } from "./reduce.js";
export { hash, snapshot, snapshotText, status } from "./snapshot.js";
export { type Agent, type Desk, emptyDesk, firstMonitor, limits, type Row, type Table, windowKey } from "./state.js";
export { type Channel, Drafts, type DraftOptions, Leader, type LeaderOptions, lease, type Locks } from "./tabs.js";
export { changeView, keepView, newView, shownMonitor, type View, type ViewInput } from "./view.js";
export { byZ, compareMonitors, findWindow, isStandard } from "./window.js";
export type * from "./wire.gen.js";
export { askClasses, catalog, closeCodes, errorCodes } from "./wire.gen.js";
