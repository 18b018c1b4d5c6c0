// The core of the web desktop, without any framework.
//
// It owns, for one session in one tab: the desktop state, folded from the log by the rules of the hub (reduce.ts and what it
// calls), the connection with its cursor (link.ts), the sent messages (outbox.ts), and the state that the tabs of a browser
// share (tabs.ts). Client combines them.
//
// All states are immutable values, so that views compare them by reference. Nothing here touches the page: sockets, clocks,
// storage and channels are injected.
//
// The hub closes the socket of a page that reads too slowly; the client resumes at its cursor and loses nothing. The client
// reconnects without limit. It sends unanswered messages again with the same id.
//
// The client stops after a close code that forbids reconnecting, refuses messages beyond the limit of unanswered ones, and
// ignores events that do not have the shape of their type except for their position.

export * from "./client.js";
export { decodeEvent, decodeFrame, type Head, type HubEvent, type KnownEvent, type UnknownEvent } from "./event.js";
export { isGone, isStoreFull, isStoreUnavailable, type Link, newLink, type Phase, timeouts } from "./link.js";
export { hasEnded, type MessageStatus, type Outbox, outboxLimits, type Sent } from "./outbox.js";
export { comparePositions } from "./position.js";
export { applyEvent } from "./reduce.js";
export { hash, snapshot, snapshotText, status } from "./snapshot.js";
export { type Agent, type DesktopState, emptyDesktop, firstMonitor, limits, type Row, type Table, windowKey } from "./state.js";
export { type Channel, type DraftOptions, Drafts, Leader, type LeaderOptions, type Locks, lease } from "./tabs.js";
export { changeView, newView, saveView, shownMonitor, type View, type ViewInput } from "./view.js";
export { byZ, compareMonitors, findWindow, isStandard } from "./window.js";
export type * from "./wire.gen.js";
export { askClasses, catalog, closeCodes, errorCodes, reasonCodes } from "./wire.gen.js";
