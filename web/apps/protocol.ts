// What the desktop and the pages of the apps origin say to each other. A page says hello with the token of its address;
// the desktop answers once with a port and what to show. From then on both speak through the port, in JSON texts.

/** The first word of a page, said to its parent. */
export interface Hello {
  type: "everdesk:hello";
  token: string;
}

/** The answer of the desktop. It comes with a port. */
export interface Begin {
  type: "everdesk:begin";
  token: string;
  /** The document of a stage, or the source of a diagram. */
  text: string;
  dark: boolean;
}

/** What the desktop asks the app on a stage. */
export type Asked =
  | { type: "yaar:app-manifest-request"; requestId: string }
  | { type: "yaar:app-query-request"; requestId: string; stateKey: string }
  | { type: "yaar:app-command-request"; requestId: string; command: string; params?: unknown }
  | { type: "yaar:capture-request"; requestId: string };

/** What a stage tells by itself. */
export type Told =
  /** The document is there. */
  | { type: "everdesk:shown" }
  /** The person wants to follow a link. */
  | { type: "everdesk:leave"; url: string }
  | { type: "yaar:app-ready"; appId?: string }
  | { type: "yaar:app-interaction"; content: string };

/** What a stage answers; which fields there are depends on what was asked. */
export interface Answered {
  type: "yaar:app-manifest-response" | "yaar:app-query-response" | "yaar:app-command-response" | "yaar:capture-response";
  requestId: string;
  manifest?: unknown;
  data?: unknown;
  result?: unknown;
  imageData?: string;
  error?: string;
}

/** What became of a diagram. */
export type Drawing = { type: "drawn"; width: number; height: number } | { type: "failed"; error: string };

/** How long a text through a port may be, in characters. */
export const maxMessage = 64 << 10;

/** How long a picture in base64 may be, so that it fits into a message to the hub. */
export const maxPicture = 56 << 10;
