// Slash commands of the page. All other lines are sent to the agent unchanged.

import type { Theme } from "../shell/prefs.js";

export type SlashName = "plan" | "stop" | "condense" | "reset" | "new" | "monitor" | "provider" | "mode" | "theme" | "language" | "sessions" | "film" | "checkpoints" | "connect" | "help";

export type Slash =
  | { name: "stop"; all: boolean }
  | { name: "new"; title: string }
  | { name: "monitor"; number: number }
  | { name: "provider"; provider: string }
  | { name: "mode"; mode: string }
  | { name: "theme"; theme: Theme }
  | { name: "language"; language: "en" | "ko" | "system" }
  | { name: "checkpoints"; on: boolean }
  | { name: "plan" | "condense" | "reset" | "sessions" | "film" | "connect" | "help" };

/** The valid arguments of commands. */
export interface SlashWorld {
  readonly providers: readonly string[];
  /** The ids of the modes that the user can choose; none in the session of another user. */
  readonly modes: readonly string[];
  /** The maximum number of monitors. */
  readonly monitors: number;
  /** Whether the user has an account; others cannot connect a model. */
  readonly account: boolean;
}

export const slashNames: readonly SlashName[] = ["plan", "stop", "condense", "monitor", "new", "reset", "provider", "mode", "theme", "language", "sessions", "film", "checkpoints", "connect", "help"];

const themes: readonly Theme[] = ["system", "dark", "light", "contrast"];
const languages = ["system", "en", "ko"] as const;
/** The argument that chooses no mode, unless there is a mode with this id. */
const noMode = "none";

/** The possible arguments of a command; undefined if it takes any or none. */
function choicesOf(name: SlashName, world: SlashWorld): readonly string[] | undefined {
  switch (name) {
    case "provider":
      return world.providers;
    case "mode":
      return world.modes.includes(noMode) ? world.modes : [...world.modes, noMode];
    case "theme":
      return themes;
    case "language":
      return languages;
    case "monitor":
      return Array.from({ length: world.monitors }, (_, i) => String(i + 1));
    case "stop":
      return ["all"];
    case "checkpoints":
      return ["on", "off"];
    default:
      return undefined;
  }
}

/** Commands that require an argument. */
const incomplete = new Set<SlashName>(["provider", "mode", "theme", "language", "monitor", "checkpoints"]);

function split(text: string): { name: string; rest: string } | undefined {
  const match = /^\/([a-z]*)(?:[ \t]+(.*))?$/i.exec(text.trimEnd());
  return match === null ? undefined : { name: match[1]!.toLowerCase(), rest: (match[2] ?? "").trim() };
}

function isOffered(name: SlashName, world: SlashWorld): boolean {
  if (name === "mode") return world.modes.length > 0;
  return name !== "connect" || world.account;
}

function isName(name: string): name is SlashName {
  return (slashNames as readonly string[]).includes(name);
}

/**
 * The request in a message that begins with /plan. A plan written out as JSON is sent with the command word, by which the
 * hub recognizes it; without an argument, the command only shows the plan.
 */
export function planIn(text: string): string | undefined {
  const request = /^\/plan\s+(\S[^]*)$/i.exec(text)?.[1]?.trim();
  return request?.startsWith("{") ? text : request;
}

/** Parses a line: a command, a command with a missing or wrong argument, or undefined if the line is for the agent. */
export function parseSlash(text: string, world: SlashWorld): Slash | { name: SlashName; wrong: string } | undefined {
  const line = split(text);
  if (line === undefined || !isName(line.name) || !isOffered(line.name, world)) return undefined;
  const { name, rest } = line;
  const choices = choicesOf(name, world);
  if (choices !== undefined && (rest !== "" || incomplete.has(name)) && !choices.includes(rest)) return { name, wrong: rest };
  switch (name) {
    case "stop":
      return { name, all: rest === "all" };
    case "new":
      return { name, title: rest };
    case "monitor":
      return { name, number: Number(rest) };
    case "provider":
      return { name, provider: rest };
    case "mode":
      return { name, mode: world.modes.includes(rest) ? rest : "" };
    case "theme":
      return { name, theme: rest as Theme };
    case "language":
      return { name, language: rest as "en" | "ko" | "system" };
    case "checkpoints":
      return { name, on: rest === "on" };
    default:
      return { name };
  }
}

/** A suggestion in the list. */
export interface Suggestion {
  readonly name: SlashName;
  /** The completed line. */
  readonly text: string;
  /** Whether the line is complete and can be run. */
  readonly whole: boolean;
}

/** The suggestions for an incomplete line. */
export function suggest(text: string, world: SlashWorld): Suggestion[] {
  if (!text.startsWith("/") || text.includes("\n")) return [];
  const space = text.indexOf(" ");
  if (space < 0) {
    const begun = text.slice(1).toLowerCase();
    return slashNames
      .filter((name) => name.startsWith(begun) && isOffered(name, world))
      .map((name) => ({ name, text: incomplete.has(name) ? `/${name} ` : `/${name}`, whole: !incomplete.has(name) }));
  }
  const name = text.slice(1, space).toLowerCase();
  if (!isName(name) || !isOffered(name, world)) return [];
  const begun = text.slice(space + 1).trimStart().toLowerCase();
  return (choicesOf(name, world) ?? [])
    .filter((c) => c.toLowerCase().startsWith(begun))
    .map((c) => ({ name, text: `/${name} ${c}`, whole: true }));
}

/** Whether a text looks like a command but is none of the page's, so that it is sent to the agent. */
export function isForAgent(text: string, world: SlashWorld): boolean {
  return /^\/\S/.test(text) && planIn(text) === undefined && parseSlash(text, world) === undefined && suggest(text, world).length === 0;
}
