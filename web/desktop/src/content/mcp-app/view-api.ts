// The requests of the page to the hub about a window with a view.

import type { CallToolResult, ReadResourceResult } from "@modelcontextprotocol/client";
import type { SessionID, WindowState } from "../../../../core/src/index.js";
import type { Api } from "../../shell/api.js";

/** A view as the hub answers. */
export interface ViewDocument {
  html: string;
  /** The origins that it may connect to, and those from which it may load scripts, styles and pictures. */
  connect?: string[];
  resources?: string[];
}

export interface ViewApi {
  document: () => Promise<ViewDocument>;
  /** Calls a tool. `pressed` says that the user has just pressed something in the view. */
  callTool: (tool: string, input: unknown, pressed: boolean) => Promise<CallToolResult>;
  readResource: (uri: string) => Promise<ReadResourceResult>;
}

/** The requests about one window. */
export function viewApi(api: Pick<Api, "ask">, session: SessionID, w: Pick<WindowState, "monitorId" | "windowId">): ViewApi {
  const path = ["/api/sessions", session, "views", w.monitorId, w.windowId].map((part, i) => (i === 0 ? part : encodeURIComponent(part))).join("/");
  return {
    document: () => api.ask("GET", path),
    callTool: (tool, input, pressed) => api.ask("POST", `${path}/call`, { tool, input, pressed }),
    readResource: (uri) => api.ask("POST", `${path}/resource`, { uri }),
  };
}

/** The address of the frame for a view: its policy is made from the origins. */
export function stageAddress(origin: string, d: ViewDocument, token: string): string {
  const query = new URLSearchParams({ view: "1" });
  for (const o of d.connect ?? []) query.append("connect", o);
  for (const o of d.resources ?? []) query.append("resource", o);
  return `${origin}/stage.html?${query}#${token}`;
}
