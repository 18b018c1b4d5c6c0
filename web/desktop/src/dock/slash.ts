// Lines that begin with a slash and are meant for the desktop itself. All others are said to the agent as they are.

import type { Theme } from "../shell/prefs.js";

export type SlashName = "plan" | "stop" | "condense" | "reset" | "new" | "monitor" | "provider" | "theme" | "language" | "sessions" | "connect" | "help";

export type Slash =
  | { name: "stop"; all: boolean }
  | { name: "new"; title: string }
  | { name: "monitor"; number: number }
  | { name: "provider"; provider: string }
  | { name: "theme"; theme: Theme }
  | { name: "language"; language: "en" | "ko" | "system" }
  | { name: "plan" | "condense" | "reset" | "sessions" | "connect" | "help" };

/** What the names in a line can be. */
export interface SlashWorld {
  readonly providers: readonly string[];
  /** How many monitors there may be. */
  readonly monitors: number;
}

export const slashNames: readonly SlashName[] = ["plan", "stop", "condense", "monitor", "new", "reset", "provider", "theme", "language", "sessions", "connect", "help"];

const themes: readonly Theme[] = ["system", "dark", "light", "contrast"];
const languages = ["system", "en", "ko"] as const;

/** What can follow a name; undefined when anything or nothing can. */
function choicesOf(name: SlashName, world: SlashWorld): readonly string[] | undefined {
  switch (name) {
    case "provider":
      return world.providers;
    case "theme":
      return themes;
    case "language":
      return languages;
    case "monitor":
      return Array.from({ length: world.monitors }, (_, i) => String(i + 1));
    case "stop":
      return ["all"];
    default:
      return undefined;
  }
}

/** Names that mean nothing without what follows. */
const incomplete = new Set<SlashName>(["provider", "theme", "language", "monitor"]);

function split(text: string): { name: string; rest: string } | undefined {
  const match = /^\/([a-z]*)(?:[ \t]+(.*))?$/i.exec(text.trimEnd());
  return match === null ? undefined : { name: match[1]!.toLowerCase(), rest: (match[2] ?? "").trim() };
}

function isName(name: string): name is SlashName {
  return (slashNames as readonly string[]).includes(name);
}

/**
 * What is to be planned, in a message that begins with /plan. A plan that is written out is for who plans, who knows it
 * by its first word; without anything behind it, the command only shows the plan.
 */
export function planIn(text: string): string | undefined {
  const wish = /^\/plan\s+(\S[^]*)$/i.exec(text)?.[1]?.trim();
  return wish?.startsWith("{") ? text : wish;
}

/** What a line wants of the desktop: a command, a name whose rest is missing or wrong, or undefined when it is for the agent. */
export function parseSlash(text: string, world: SlashWorld): Slash | { name: SlashName; wrong: string } | undefined {
  const line = split(text);
  if (line === undefined || !isName(line.name)) return undefined;
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
    case "theme":
      return { name, theme: rest as Theme };
    case "language":
      return { name, language: rest as "en" | "ko" | "system" };
    default:
      return { name };
  }
}

/** A line that can be chosen from the list. */
export interface Suggestion {
  readonly name: SlashName;
  /** What the line becomes. */
  readonly text: string;
  /** The line says all there is to say, and can be run. */
  readonly whole: boolean;
}

/** What a line that is being typed can become. */
export function suggest(text: string, world: SlashWorld): Suggestion[] {
  if (!text.startsWith("/") || text.includes("\n")) return [];
  const space = text.indexOf(" ");
  if (space < 0) {
    const begun = text.slice(1).toLowerCase();
    return slashNames
      .filter((name) => name.startsWith(begun))
      .map((name) => ({ name, text: incomplete.has(name) ? `/${name} ` : `/${name}`, whole: !incomplete.has(name) }));
  }
  const name = text.slice(1, space).toLowerCase();
  if (!isName(name)) return [];
  const begun = text.slice(space + 1).trimStart().toLowerCase();
  return (choicesOf(name, world) ?? [])
    .filter((c) => c.toLowerCase().startsWith(begun))
    .map((c) => ({ name, text: `/${name} ${c}`, whole: true }));
}

/** Whether a text looks like a command and is none of ours, so that the agent gets it. */
export function isForAgent(text: string, world: SlashWorld): boolean {
  return /^\/\S/.test(text) && planIn(text) === undefined && parseSlash(text, world) === undefined && suggest(text, world).length === 0;
}
