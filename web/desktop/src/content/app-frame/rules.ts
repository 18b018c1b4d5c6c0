// What a frame may say, how often, and which questions of the hub are for an app in this tab. Pure.

import { type Answered, type Asked, maxMessage, type Told } from "../../../../apps/protocol.js";
import type { AppProtocolRequest, AppResponse, Connection } from "../../../../core/src/index.js";

/** So many messages too many in a second are the end of a frame. */
export const flood = 500;

/** A page has no business with anybody but its port; so many other messages in a second are the end of it. */
export const strays = 20;

/** How often something may happen in a period, a second unless told otherwise. What is too much is counted. */
export class Rate {
  /** How many were too many in this period. */
  dropped = 0;
  private since = -Infinity;
  private count = 0;
  private readonly most: number;
  private readonly period: number;

  constructor(most: number, period = 1000) {
    this.most = most;
    this.period = period;
  }

  take(now: number): boolean {
    if (now - this.since >= this.period) {
      this.since = now;
      this.count = 0;
      this.dropped = 0;
    }
    if (++this.count <= this.most) return true;
    this.dropped++;
    return false;
  }
}

const answers = ["yaar:app-manifest-response", "yaar:app-query-response", "yaar:app-command-response", "yaar:capture-response"];

/** Reads what came through the port of a frame; undefined when it is nothing that a frame may say. */
export function readSaid(data: unknown): Told | Answered | undefined {
  if (typeof data !== "string" || data.length > maxMessage) return undefined;
  let said: Record<string, unknown>;
  try {
    said = JSON.parse(data) as Record<string, unknown>;
  } catch {
    return undefined;
  }
  if (typeof said !== "object" || said === null) return undefined;
  const text = (v: unknown, most: number): v is string => typeof v === "string" && v !== "" && v.length <= most;
  switch (said.type) {
    case "everdesk:shown":
    case "yaar:app-ready":
      return { type: said.type };
    case "everdesk:leave":
      return text(said.url, 4096) ? { type: said.type, url: said.url } : undefined;
    case "yaar:app-interaction":
      return text(said.content, 16_384) ? { type: said.type, content: said.content } : undefined;
  }
  if (!answers.includes(String(said.type)) || !text(said.requestId, 256)) return undefined;
  const { type, requestId, manifest, data: value, result, imageData, error } = said;
  return {
    type: type as Answered["type"],
    requestId,
    ...(manifest === undefined ? {} : { manifest }),
    ...(value === undefined ? {} : { data: value }),
    ...(result === undefined ? {} : { result }),
    ...(typeof imageData === "string" ? { imageData } : {}),
    ...(error === undefined || error === null ? {} : { error: String(error).slice(0, 2000) }),
  };
}

/** What an agent is told that an app says to it. What the app says cannot end the text early. */
export function interactionText(content: string): string {
  return `<app_interaction>${content.replaceAll("<", "&lt;")}</app_interaction>`;
}

/** What an app is asked for the hub. */
export function questionOf(r: AppProtocolRequest): Asked {
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

/** How many bytes an answer may have, so that it fits into a message to the hub. */
const maxAnswer = 60 << 10;

/** An answer as the hub takes it. */
export function responseOf(kind: AppResponse["kind"], a: Pick<Answered, "manifest" | "data" | "result" | "error">): AppResponse {
  const response = fields(kind, a);
  return new TextEncoder().encode(JSON.stringify(response)).length <= maxAnswer ? response : refusal(kind, "the answer is too large");
}

function fields(kind: AppResponse["kind"], { manifest, data, result, error }: Parameters<typeof responseOf>[1]): AppResponse {
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

export function refusal(kind: AppResponse["kind"], error: string): AppResponse {
  return { kind, error };
}

/** Whether a question is for us: those with an address are for one connection only. */
export function isForUs(to: string | undefined, presence: readonly Connection[], clientId: string): boolean {
  return to === undefined || to === "" || presence.some((c) => c.connectionId === to && c.clientId === clientId);
}

/** Whether it is too late to answer. Deadlines and `now` are by the clock of the hub. */
export function isLate(deadline: number | undefined, now: number): boolean {
  return deadline !== undefined && deadline > 0 && now > deadline;
}
