// Which messages a frame may send and how often, and which requests of the hub are for an app in this tab. Pure.

import { maxMessage, maxStorageMessage, type PageMessage, type PageRequest, type PageResponse, type StorageOperation } from "../../../../apps/protocol.js";
import type { AppProtocolRequest, AppResponse, Connection } from "../../../../core/src/index.js";

/** The number of excess messages per second at which a frame is closed. */
export const floodLimit = 500;

/** The number of messages per second outside of its port at which a frame is closed; a page needs none. */
export const strayLimit = 20;

/** A rate limit per period, by default one second. It counts the excess. */
export class Rate {
  /** The number of events over the limit in this period. */
  dropped = 0;
  private since = -Infinity;
  private count = 0;
  private readonly max: number;
  private readonly period: number;

  constructor(most: number, period = 1000) {
    this.max = most;
    this.period = period;
  }

  allow(now: number): boolean {
    if (now - this.since >= this.period) {
      this.since = now;
      this.count = 0;
      this.dropped = 0;
    }
    if (++this.count <= this.max) return true;
    this.dropped++;
    return false;
  }
}

const answers = ["yaar:app-manifest-response", "yaar:app-query-response", "yaar:app-command-response", "yaar:capture-response"];

/** Parses a message from the port of a frame; undefined if a frame may not send it. */
export function parseAppMessage(data: unknown): PageMessage | PageResponse | undefined {
  if (typeof data !== "string" || data.length > maxStorageMessage) return undefined;
  let message: Record<string, unknown>;
  try {
    message = JSON.parse(data) as Record<string, unknown>;
  } catch {
    return undefined;
  }
  if (typeof message !== "object" || message === null) return undefined;
  if (message.type === "everdesk:storage") return parseStorage(message);
  if (data.length > maxMessage) return undefined;
  const text = (v: unknown, most: number): v is string => typeof v === "string" && v !== "" && v.length <= most;
  switch (message.type) {
    case "everdesk:shown":
    case "yaar:app-ready":
      return { type: message.type };
    case "everdesk:leave":
      return text(message.url, 4096) ? { type: message.type, url: message.url } : undefined;
    case "yaar:app-interaction":
      return text(message.content, 16_384) ? { type: message.type, content: message.content } : undefined;
  }
  if (!answers.includes(String(message.type)) || !text(message.requestId, 256)) return undefined;
  const { type, requestId, manifest, data: value, result, imageData, error } = message;
  return {
    type: type as PageResponse["type"],
    requestId,
    ...(manifest === undefined ? {} : { manifest }),
    ...(value === undefined ? {} : { data: value }),
    ...(result === undefined ? {} : { result }),
    ...(typeof imageData === "string" ? { imageData } : {}),
    ...(error === undefined || error === null ? {} : { error: String(error).slice(0, 2000) }),
  };
}

const operations = ["read", "save", "list", "remove"];

/** Parses a request about the data of an app. */
function parseStorage({ call, op, name, text, version }: Record<string, unknown>): PageMessage | undefined {
  if (typeof call !== "number" || !operations.includes(String(op)) || typeof name !== "string" || name.length > 1024 || typeof text !== "string") return undefined;
  if (version !== undefined && version !== null && !/^[0-9a-f]{1,64}$/.test(String(version))) return undefined;
  return { type: "everdesk:storage", call, op: op as StorageOperation, name, text, ...(version === undefined ? {} : { version: version as string | null }) };
}

/** The message to the agent for an interaction in an app. It escapes "<", so that the content cannot end the tag. */
export function interactionText(content: string): string {
  return `<app_interaction>${content.replaceAll("<", "&lt;")}</app_interaction>`;
}

/** Converts a request of the hub to a request to the app. */
export function appRequestOf(r: AppProtocolRequest): PageRequest {
  const { requestId, request } = r;
  switch (request.kind) {
    case "manifest":
      return { type: "yaar:app-manifest-request", requestId };
    case "query":
      return { type: "yaar:app-query-request", requestId, stateKey: request.stateKey };
    case "command":
      return { type: "yaar:app-command-request", requestId, command: request.command, params: request.params };
  }
}

/** The maximum size of a response in bytes, so that it fits into a message to the hub. */
const maxAnswer = 60 << 10;

/** Converts a response of an app to the hub's form. */
export function responseOf(kind: AppResponse["kind"], a: Pick<PageResponse, "manifest" | "data" | "result" | "error">): AppResponse {
  const response = responseFields(kind, a);
  return new TextEncoder().encode(JSON.stringify(response)).length <= maxAnswer ? response : errorResponse(kind, "the answer is too large");
}

function responseFields(kind: AppResponse["kind"], { manifest, data, result, error }: Parameters<typeof responseOf>[1]): AppResponse {
  const why = error === undefined ? {} : { error };
  switch (kind) {
    case "manifest":
      return typeof manifest === "object" && manifest !== null && !Array.isArray(manifest) ? { kind, manifest, ...why } : { kind, ...why };
    case "query":
      return { kind, data: data ?? null, ...why };
    case "command":
      return { kind, result: result ?? null, ...why };
  }
}

export function errorResponse(kind: AppResponse["kind"], error: string): AppResponse {
  return { kind, error };
}

/** Whether a request is for this tab: a request with an address is for one connection only. */
export function isForThisTab(to: string | undefined, presence: readonly Connection[], clientId: string): boolean {
  return to === undefined || to === "" || presence.some((c) => c.connectionId === to && c.clientId === clientId);
}

/** Whether the deadline has passed. Deadlines and `now` are in the hub's time. */
export function isExpired(deadline: number | undefined, now: number): boolean {
  return deadline !== undefined && deadline > 0 && now > deadline;
}
