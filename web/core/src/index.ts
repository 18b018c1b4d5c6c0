// The core of the web desktop, without any framework.
//
// It owns, for one session in one tab: the mirror of the desktop by the same rules as the hub's (reduce.ts and what it
// calls), the connection with its cursor (link.ts), the messages that were sent (outbox.ts), and what the tabs of a
// browser share (tabs.ts). Client puts them together.
//
// All states are values that are replaced and never changed, so that whoever draws them compares by reference. Nothing
// here touches the page: sockets, clocks, storage and channels come in from outside.
//
// A slow page slows its socket down; the hub then closes it and the client resumes where it was, so being slow loses
// nothing. A lost connection is made anew for ever. Messages without an answer are sent again with the same id.
//
// It refuses what the hub has refused for good, more unanswered messages than there may be, and every frame that is not
// of its form: such an event only moves the cursor.

export * from "./client.js";
export { decodeEvent, decodeFrame, type Head, type HubEvent, type KnownEvent, type UnknownEvent } from "./event.js";
export { isGone, isStoreUnavailable, type Link, type Phase, timeouts } from "./link.js";
export { hasEnded, type MessageStatus, type Outbox, outboxLimits, type Sent } from "./outbox.js";
export { comparePositions } from "./position.js";
export { applyEvent } from "./reduce.js";
export { hash, snapshot, snapshotText, status } from "./snapshot.js";
export { type Agent, type DesktopState, emptyDesktop, firstMonitor, limits, type Row, type Table, windowKey } from "./state.js";
export { type Channel, type DraftOptions, Drafts, Leader, type LeaderOptions, type Locks, lease } from "./tabs.js";
export { changeView, newView, saveView, shownMonitor, type View, type ViewInput } from "./view.js";
export { byZ, compareMonitors, findWindow, isStandard } from "./window.js";
export type * from "./wire.gen.js";
export { askClasses, catalog, closeCodes, errorCodes } from "./wire.gen.js";
