// The desktop's end of a view: the host bridge of MCP Apps, with what this desktop does for views.

import "./jitless.js";
import type { CallToolResult, Transport } from "@modelcontextprotocol/client";
import { AppBridge, type McpUiHostCapabilities, type McpUiHostContext } from "@modelcontextprotocol/ext-apps/app-bridge";
import type { MCPApp } from "../../../../core/src/index.js";
import type { ViewApi } from "./view-api.js";

/** How long a view may take for its teardown, in ms. Views that do not know it answer with an error at once. */
export const teardownTimeout = 1500;

/** What the desktop does for views. Views without these capabilities get errors. */
const capabilities: McpUiHostCapabilities = {
  openLinks: {},
  serverTools: {},
  serverResources: {},
  logging: {},
  updateModelContext: { text: {}, structuredContent: {} },
  message: { text: {} },
};

/** The desktop, for a view. Each of these may refuse with an error. */
export interface ViewHost {
  /** Offers a text to the user as a message. */
  offerMessage: (text: string) => Promise<boolean>;
  /** Offers an address to the user. */
  offerLink: (url: string) => boolean;
  /** Stores the text about the window for the model. */
  setModelContext: (text: string) => void;
  /** Changes the display mode; returns the mode that holds then. */
  setDisplayMode: (mode: string) => "inline" | "fullscreen";
  setSize: (size: { width?: number | undefined; height?: number | undefined }) => void;
  /** The view asks to be closed. */
  close: () => void;
  /** The view is ready. */
  onReady: () => void;
  /** A call of a tool begins. Returns whether the user has just clicked or pressed a key in the view. */
  onCall: () => boolean;
}

export interface ViewBridge {
  setContext: (context: McpUiHostContext) => void;
  /** Ends the view. It resolves when the view has answered or is late. */
  teardown: () => Promise<void>;
}

/** Connects a view that shows a call. */
export function connectView(transport: Transport, app: MCPApp, context: McpUiHostContext, api: ViewApi, host: ViewHost): ViewBridge {
  const bridge = new AppBridge(null, { name: "Everdesk", version: "1" }, capabilities, { hostContext: context });
  let initialized = false;
  bridge.oninitialized = () => {
    if (initialized) return;
    initialized = true;
    void bridge.sendToolInput({ arguments: (app.input ?? {}) as Record<string, unknown> });
    if (app.result !== undefined) void bridge.sendToolResult(app.result as CallToolResult);
    host.onReady();
  };
  bridge.oncalltool = (params) => api.callTool(params.name, params.arguments ?? {}, host.onCall());
  bridge.onreadresource = (params) => api.readResource(params.uri);
  bridge.onmessage = async (params) => ((await host.offerMessage(textOf(params.content))) ? {} : { isError: true });
  bridge.onopenlink = async (params) => (host.offerLink(params.url) ? {} : { isError: true });
  bridge.onupdatemodelcontext = async (params) => {
    host.setModelContext(modelContext(params));
    return {};
  };
  bridge.onrequestdisplaymode = async (params) => ({ mode: host.setDisplayMode(params.mode) });
  bridge.onsizechange = (size) => host.setSize(size);
  bridge.onrequestteardown = () => host.close();
  bridge.onloggingmessage = () => undefined; // the log of a view is for its developer
  void bridge.connect(transport);
  return {
    setContext: (c) => (initialized ? bridge.setHostContext(c) : undefined),
    async teardown() {
      if (initialized) await bridge.teardownResource({}, { timeout: teardownTimeout }).catch(() => undefined);
      await bridge.close();
    },
  };
}

/** The text in the content of a message. */
export function textOf(content: readonly { type: string; text?: unknown }[]): string {
  return content.flatMap((c) => (c.type === "text" && typeof c.text === "string" ? [c.text] : [])).join("\n");
}

/** The text of a view for the model. */
export function modelContext(p: { content?: readonly { type: string; text?: unknown }[] | undefined; structuredContent?: unknown }): string {
  const data = p.structuredContent === undefined ? [] : [JSON.stringify(p.structuredContent)];
  return [textOf(p.content ?? []), ...data].filter((t) => t !== "").join("\n");
}
