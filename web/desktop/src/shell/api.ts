// The client of the hub's REST API. Problem documents become `ApiError`s.

import type { AutoApproval, MonitorID, SessionID, UIRow } from "../../../core/src/index.js";

export class ApiError extends Error {
  readonly status: number;
  readonly code: number;

  constructor(status: number, code: number, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** A session in the list of sessions. */
export interface SessionCard {
  sessionId: SessionID;
  title?: string;
  user: string;
  /** The access of the signed-in user. */
  access: "viewer" | "operator" | "owner";
  /** The users it is shared with; only its owner sees them. */
  shares?: { user: string; access: "viewer" | "operator"; newcomer?: boolean }[];
  /** The part of the conversation that a search found. */
  found?: string;
  /** Whether it has unfinished work. */
  working: boolean;
  /** Whether it is quarantined because its data cannot be read. */
  setAside?: boolean;
  metadata: { createdAt: string; lastActivity: string; provider: string };
}

export interface Me {
  user: string;
  roles: string[];
  /** The sign-in method; "none" if the hub has no sign-in. */
  auth?: string;
  /** The only session of an invited device; absent for others. */
  session?: SessionID;
}

/** The data of the hub that the page needs to start. */
export interface HubInfo {
  version: string;
  /** The separate origin that serves html windows and apps; empty if the hub has none. */
  appsOrigin: string;
  /** The available providers, and the one of new sessions. */
  providers: string[];
  provider: string;
  /** Whether the user may kill the hub in the tour, because it is started again. */
  canCrash?: boolean;
  /** Why notebooks cannot run code; absent when they can. */
  notebooksOff?: string;
}

/** A model backend that a profile can have. */
export interface Backend {
  backend: string;
  /** The name for people. */
  label: string;
  /** A service on the internet, a server whose address the user knows, one that the hub looks for, or a program of the hub. */
  kind: "service" | "server" | "local" | "program";
  needsKey: boolean;
  /** The address that is used if a profile has none. */
  baseUrl: string;
  /** Whether it can be used without entering anything. */
  found: boolean;
}

/** A model and how to reach it. */
export interface ModelProfile {
  id: string;
  name: string;
  backend: string;
  model: string;
  baseUrl: string;
  /** The name of the secret with the key. */
  secret: string;
  /** The flags of the operator that the profile is made from; it cannot be changed. */
  pinned?: string;
}

/** A profile to store or to test. */
export interface NewModelProfile {
  name: string;
  backend: string;
  model?: string;
  baseUrl?: string;
  secret?: string;
}

/** The profiles of the user and of the hub, and the default profile of each role. */
export interface ModelProfiles {
  profiles: ModelProfile[];
  roles: Record<string, string> | null;
  version: number;
}

export interface ListedModel {
  id: string;
  name: string;
}

/** Why a model or its server cannot be used. */
export interface ModelFailure {
  class: string;
  detail: string;
}

/** The result of a test of a model. */
export interface ModelTest {
  answer?: string;
  ms: number;
  inputTokens?: number;
  outputTokens?: number;
  costUsd?: number;
  costUnknown?: boolean;
  failure?: ModelFailure;
}

/** A mode says how agents work. */
export interface Mode {
  id: string;
  name: string;
  /** For the agent, in addition to its role. */
  instructions: string;
  toolProfile: string;
  /** The id or the name of a model profile; empty for that of the session. */
  model: string;
  /** The auto-approval rules instead of those of the session; absent for these. */
  approval?: AutoApproval;
  /** Whether the hub has a mode with this id, and whether the user has changed it. */
  shipped?: boolean;
  overridden?: boolean;
}

/** A mode to store. */
export type NewMode = Omit<Mode, "id" | "shipped" | "overridden">;

/** A tool of an MCP server. */
export interface MCPServerTool {
  name: string;
  modelName: string;
  title?: string;
  description?: string;
}

/** An MCP server of the operator or of the user. */
export interface MCPServer {
  name: string;
  own: boolean;
  type: string;
  command?: string;
  args?: string[];
  env?: Record<string, string>;
  cwd?: string;
  url?: string;
  headers?: Record<string, string>;
  disabled?: boolean;
  trusted?: boolean;
  sampling?: boolean;
  scope?: string;
  profiles?: string[];
  timeout?: number;
  /** The names of the secrets that it needs. */
  secrets?: string[];
  state: "stopped" | "starting" | "ready" | "failed" | "stopping";
  error?: string;
  tools?: MCPServerTool[];
}

export interface MCPServers {
  servers: MCPServer[] | null;
  version: number;
  /** Whether servers of the user may be programs. */
  commands?: boolean;
  warnings?: string[];
}

/** A line of the log of an MCP server. */
export interface MCPServerLine {
  time: string;
  from: string;
  text: string;
}

/** The modes of the hub, then those of the user. */
export interface Modes {
  modes: Mode[];
  version: number;
}

/** A setting that the hub declares. */
export interface SettingInfo {
  name: string;
  /** One sentence in English. */
  doc: string;
  /** The narrowest scope in which it may have a value. */
  scope: "hub" | "user" | "session";
  changedBy: "user" | "admin";
  /** The JSON Schema of its values. */
  schema: unknown;
}

/** Why a value was refused. */
export interface SettingRefusal {
  name: string;
  code: string;
  /** English text. */
  detail: string;
}

/** A setting with its effective value. */
export interface SettingState {
  name: string;
  value: unknown;
  /** Where the value comes from: default, hub, user, session or pinned. */
  source: string;
  /** The flag or file of the operator that sets it; it cannot be changed. */
  pinned?: string;
  /** A stored value is not valid and not used. */
  invalid?: SettingRefusal;
}

/** The settings of the user, and the changes that were refused. */
export interface SettingValues {
  settings: SettingState[];
  refused?: SettingRefusal[];
}

export interface JoinTicket {
  /** The address that the phone opens. */
  url: string;
  expiresIn: number;
  /** Whether the address is a loopback address, which no phone can reach. */
  loopback: boolean;
}

/** A token with which a program uses the tools of a session over MCP. */
export interface McpToken {
  id: string;
  name: string;
  profile: string;
  monitor: MonitorID;
  /** The last four characters of the token. */
  lastFour: string;
  createdAt: string;
  expiresAt: string;
  /** Absent if it was never used. */
  lastUsedAt?: string;
}

/** A new token; the hub does not show it again. */
export interface NewMcpToken extends McpToken {
  token: string;
}

/** The auto-approval rules of the user's sessions without rules of their own. */
export interface ApprovalDefault {
  rules: AutoApproval;
  isSet: boolean;
  version: number;
}

/** How rules decide on a command, and why. */
export interface ApprovalVerdict {
  verdict: "approve" | "deny" | "ask";
  reason: string;
  /** The command of the line and the rule that decided, if there are such. */
  command?: string;
  rule?: string;
}

/** Whether a change was refused because the data was changed meanwhile. Other refusals with this status have a code. */
export function isConflict(error: unknown): boolean {
  return error instanceof ApiError && error.status === 409 && error.code === 0;
}

export class Api {
  readonly fetch: typeof fetch;

  constructor(fetcher: typeof fetch) {
    this.fetch = fetcher;
  }

  me = (): Promise<Me> => this.ask("GET", "/api/me");
  hub = (): Promise<HubInfo> => this.ask("GET", "/api/hub");
  sessions = async (): Promise<SessionCard[]> => (await this.ask<{ sessions: SessionCard[] }>("GET", "/api/sessions")).sessions ?? [];
  session = (id: SessionID): Promise<SessionCard> => this.ask("GET", `/api/sessions/${encodeURIComponent(id)}`);
  createSession = (title: string): Promise<SessionCard> => this.ask("POST", "/api/sessions", { title });
  renameSession = (id: SessionID, title: string): Promise<SessionCard> => this.ask("PATCH", `/api/sessions/${encodeURIComponent(id)}`, { title });
  deleteSession = (id: SessionID): Promise<void> => this.ask("DELETE", `/api/sessions/${encodeURIComponent(id)}`);
  joinTicket = (session: SessionID, monitor?: MonitorID): Promise<JoinTicket> => this.ask("POST", "/api/join-tickets", { session, monitor });
  join = (ticket: string): Promise<{ session: SessionID; monitor?: MonitorID }> => this.ask("POST", "/api/join", { ticket });
  mcpTokens = async (id: SessionID): Promise<McpToken[]> => (await this.ask<{ tokens: McpToken[] }>("GET", `/api/sessions/${encodeURIComponent(id)}/mcp-tokens`)).tokens;
  createMcpToken = (id: SessionID, token: { name: string; profile: string; monitor: MonitorID; ttl: number }): Promise<NewMcpToken> =>
    this.ask("POST", `/api/sessions/${encodeURIComponent(id)}/mcp-tokens`, token);
  revokeMcpToken = (id: SessionID, token: string): Promise<void> => this.ask("DELETE", `/api/sessions/${encodeURIComponent(id)}/mcp-tokens/${encodeURIComponent(token)}`);
  /** The newest rows of a monitor, or the rows before a row id. */
  rows = (id: SessionID, query: Query): Promise<{ rows: UIRow[]; more: boolean }> => this.ask("GET", `/api/sessions/${encodeURIComponent(id)}/rows?${queryOf(query)}`);
  tasks = (id: SessionID, query: Query): Promise<{ tasks: unknown[] }> => this.ask("GET", `/api/sessions/${encodeURIComponent(id)}/tasks?${queryOf(query)}`);
  testApproval = (rules: AutoApproval, command: string): Promise<ApprovalVerdict> => this.ask("POST", "/api/approval-tests", { rules, command });
  /** The auto-approval rules of sessions without rules of their own. */
  approvalDefault = (): Promise<ApprovalDefault> => this.ask("GET", "/api/auto-approval");
  /** Stores them. If they have another version than `version`, the status is 409. */
  putApprovalDefault = (rules: AutoApproval, version: number): Promise<ApprovalDefault> => this.ask("PUT", "/api/auto-approval", { rules, version });
  backends = async (): Promise<Backend[]> => (await this.ask<{ backends: Backend[] }>("GET", "/api/backends")).backends ?? [];
  listModels = (backend: string, server: { baseUrl?: string; key?: string }): Promise<{ models: ListedModel[] | null; failure?: ModelFailure }> =>
    this.ask("POST", `/api/backends/${encodeURIComponent(backend)}/models`, server);
  modelProfiles = (): Promise<ModelProfiles> => this.ask("GET", "/api/model-profiles");
  /** Stores a profile. If the profiles have another version than `version`, the status is 409. */
  putModelProfile = (id: string, profile: NewModelProfile & { version: number }): Promise<ModelProfiles> => this.ask("PUT", `/api/model-profiles/${encodeURIComponent(id)}`, profile);
  deleteModelProfile = (id: string, version: number): Promise<ModelProfiles> => this.ask("DELETE", `/api/model-profiles/${encodeURIComponent(id)}?${queryOf({ version })}`);
  putModelRoles = (roles: Record<string, string>, version: number): Promise<ModelProfiles> => this.ask("PUT", "/api/model-profiles/roles", { roles, version });
  testModel = (what: { profile: NewModelProfile; key?: string }): Promise<ModelTest> => this.ask("POST", "/api/model-profiles/test", what);
  mcpServers = (): Promise<MCPServers> => this.ask("GET", "/api/mcp-servers");
  /** Adds the servers of a configuration. If the servers have another version than `version`, the status is 409. */
  addMCPServers = (config: string, version: number): Promise<MCPServers> => this.ask("POST", "/api/mcp-servers", { config, version });
  /** Switches a server of the user on or off. If the servers have another version than `version`, the status is 409. */
  switchMCPServer = (s: MCPServer, disabled: boolean, version: number): Promise<MCPServers> => {
    const { type, command, args, env, cwd, url, headers, trusted, sampling, scope, profiles, timeout } = s;
    const entry = { type, command, args, env, cwd, url, headers, trusted, sampling, scope, profiles, timeout, disabled, version };
    return this.ask("PUT", `/api/mcp-servers/${encodeURIComponent(s.name)}`, entry);
  };
  deleteMCPServer = (name: string, version: number): Promise<MCPServers> => this.ask("DELETE", `/api/mcp-servers/${encodeURIComponent(name)}?${queryOf({ version })}`);
  tryMCPServer = (name: string): Promise<MCPServers> => this.ask("POST", `/api/mcp-servers/${encodeURIComponent(name)}/try`);
  mcpServerLog = (name: string): Promise<{ lines: MCPServerLine[] }> => this.ask("GET", `/api/mcp-servers/${encodeURIComponent(name)}/log`);
  modes = (): Promise<Modes> => this.ask("GET", "/api/modes");
  /** Stores a mode. If the modes have another version than `version`, the status is 409. */
  putMode = (id: string, mode: NewMode & { version: number }): Promise<Modes> => this.ask("PUT", `/api/modes/${encodeURIComponent(id)}`, mode);
  /** Deletes a mode, or the changes of one of the hub. */
  deleteMode = (id: string, version: number): Promise<Modes> => this.ask("DELETE", `/api/modes/${encodeURIComponent(id)}?${queryOf({ version })}`);
  settingCatalogue = (): Promise<{ settings: SettingInfo[] }> => this.ask("GET", "/api/settings/catalogue");
  settingValues = (): Promise<SettingValues> => this.ask("GET", "/api/settings/values");
  /** Changes a setting; null returns to the default. If its value is no longer `was`, the change is refused as a conflict. */
  changeSetting = (name: string, value: unknown, was: unknown): Promise<SettingValues> => this.ask("PATCH", "/api/settings/values", { values: { [name]: value }, was: { [name]: was } });
  /** The names of the secrets of the user that are set and can be read. */
  secretNames = async (): Promise<string[]> => {
    const all = await this.ask<{ secrets: { name: string; set: boolean; unreadable?: string }[] | null }>("GET", "/api/secrets");
    return (all.secrets ?? []).filter((s) => s.set && s.unreadable === undefined).map((s) => s.name);
  };
  putSecret = (name: string, value: string): Promise<void> => this.ask("PUT", `/api/secrets/${encodeURIComponent(name)}`, { value });
  signOut = (): Promise<void> => this.ask("POST", "/api/logout");

  /** The HTTP status of the session, which explains a refused WebSocket handshake. */
  probe = async (id: SessionID): Promise<number> => (await this.fetch(`/api/sessions/${encodeURIComponent(id)}`)).status;

  /** The text of a file of the session, for apps stored as files. */
  fileText = async (path: string): Promise<string> => {
    const r = await this.fetch(path);
    if (!r.ok) throw await problemOf(r);
    return r.text();
  };

  /** Sends a request with a JSON body and returns the answer. Parts that are loaded later use it directly. */
  async ask<T>(method: string, path: string, body?: unknown): Promise<T> {
    const r = await this.fetch(path, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { "Content-Type": "application/json" } }),
    });
    if (!r.ok) throw await problemOf(r);
    return (r.status === 204 ? undefined : await r.json()) as T;
  }
}

/** Query parameters; undefined ones are left out. */
type Query = Record<string, string | number | undefined>;

function queryOf(query: Query): URLSearchParams {
  return new URLSearchParams(Object.entries(query).flatMap(([k, v]) => (v === undefined ? [] : [[k, String(v)]])));
}

export async function problemOf(r: Response): Promise<ApiError> {
  const p = (await r.json().catch(() => ({}))) as { code?: number; detail?: string; title?: string };
  return new ApiError(r.status, p.code ?? 0, p.detail ?? p.title ?? `HTTP ${r.status}`);
}
