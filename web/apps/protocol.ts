// The messages between the desktop and the pages of the apps origin. A page sends hello with the token of its address until the
// desktop answers, once, with a port and the text to show. After that both use the port, with JSON texts.

/** The first message of a page, to its parent. */
export interface Hello {
  type: "everdesk:hello";
  token: string;
  /** A random text that is the same in all hellos of one load of the page. */
  load: string;
}

/** The answer of the desktop, sent with a port. */
export interface Begin {
  type: "everdesk:begin";
  token: string;
  /** The HTML document of an app, or the source of a diagram. */
  text: string;
  dark: boolean;
  /** The colours of a diagram. */
  colors?: Colors;
  /** The bytes of a PDF file. */
  data?: ArrayBuffer;
}

/** Colours of the theme of the desktop, as hexadecimal numbers. */
export interface Colors {
  surface: string;
  background: string;
  ink: string;
  line: string;
  accent: string;
}

/** A request of the desktop to an app page. */
export type PageRequest =
  | { type: "yaar:app-manifest-request"; requestId: string }
  | { type: "yaar:app-query-request"; requestId: string; stateKey: string }
  | { type: "yaar:app-command-request"; requestId: string; command: string; params?: unknown }
  | { type: "yaar:capture-request"; requestId: string };

/** An operation on the data of an app. */
export type StorageOperation = "read" | "save" | "list" | "remove";

/** A request of an app page to the desktop, about the app's own data. */
export interface StorageRequest {
  type: "everdesk:storage";
  /** The number of the request. */
  call: number;
  op: StorageOperation;
  name: string;
  /** The new text, for save. */
  text: string;
  /** The version that the app has read, for save: null if there was no file, absent if it has not read the file. */
  version?: string | null;
}

/** What the desktop sends to a page about the app's data: the result of a request, or that a file was changed elsewhere. */
export type StorageMessage =
  | { type: "everdesk:storage-result"; call: number; value?: string | string[] | null; version?: string | null; error?: string; conflict?: boolean }
  | { type: "everdesk:storage-changed"; name: string };

/** A message that an app page sends on its own. */
export type PageMessage =
  /** The document is loaded. */
  | { type: "everdesk:shown" }
  /** The user clicked a link. */
  | { type: "everdesk:leave"; url: string }
  | StorageRequest
  | { type: "yaar:app-ready"; appId?: string }
  | { type: "yaar:app-interaction"; content: string };

/** A response of an app page; its fields depend on the request. */
export interface PageResponse {
  type: "yaar:app-manifest-response" | "yaar:app-query-response" | "yaar:app-command-response" | "yaar:capture-response";
  requestId: string;
  manifest?: unknown;
  data?: unknown;
  result?: unknown;
  imageData?: string;
  error?: string;
}

/** The result of drawing a diagram. */
export type DrawingResult = { type: "drawn"; width: number; height: number } | { type: "failed"; error: string };

/** The maximum length of a text through a port, in characters. */
export const maxMessage = 64 << 10;

/** The maximum length of a text through a port that stores data of an app, in characters. A file has at most 1 MiB. */
export const maxStorageMessage = 1200 << 10;

/** The maximum length of a picture in base64, so that it fits into a message to the hub. */
export const maxPicture = 56 << 10;
