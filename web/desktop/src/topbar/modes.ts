// The modes of agents as the page names and lists them.

import type { AgentMode } from "../../../core/src/index.js";
import type { Mode } from "../shell/api.js";
import type { topbar } from "../texts/entry.js";

type Texts = (typeof topbar)["en"];

/** A mode to choose. */
export interface ModeChoice {
  /** Empty for no mode. */
  readonly id: string;
  readonly name: string;
  /** A short description. */
  readonly note: string;
  /** Whether the session has this mode. */
  readonly checked: boolean;
  /** Whether the mode was deleted; the session still has a copy. */
  readonly deleted: boolean;
}

/** The modes to choose from: none, those of the hub and of the user, and the current one if it was deleted. */
export function modeChoices(all: readonly Mode[], current: AgentMode | undefined, t: Texts): ModeChoice[] {
  const currentId = current?.id ?? "";
  const listed = all.map((m) => ({ id: m.id, name: modeName(m, t), note: modeNote(m, t), checked: m.id === currentId, deleted: false }));
  const none = { id: "", name: t.modeNone, note: t.modeNoneNote, checked: currentId === "", deleted: false };
  if (current === undefined || all.some((m) => m.id === currentId)) return [none, ...listed];
  return [none, ...listed, { id: currentId, name: modeName(current, t), note: toolsNote(current.toolProfile ?? "", t), checked: true, deleted: true }];
}

/** The name of a mode, in the language of the page if it is a name of the hub. */
export function modeName({ id, name = "" }: Pick<AgentMode, "id" | "name">, t: Texts): string {
  const known = shippedTexts(t)[id];
  return known !== undefined && name === known.english ? known.name : name || id;
}

/** What a mode is for: the hub's description of its own modes, else the beginning of the instructions, else the tools. */
export function modeNote(m: Pick<Mode, "id" | "instructions" | "toolProfile" | "shipped" | "overridden">, t: Texts): string {
  if (m.shipped === true && m.overridden !== true) {
    const known = shippedTexts(t)[m.id];
    if (known !== undefined) return known.note;
  }
  const line = m.instructions.trim().split("\n", 1)[0]!;
  const sentence = [...(/^.*?[.!?。](?=\s|$)/u.exec(line)?.[0] ?? line)];
  if (sentence.length === 0) return toolsNote(m.toolProfile, t);
  return sentence.length <= maxNote ? sentence.join("") : `${sentence.slice(0, maxNote - 1).join("").trimEnd()}…`;
}

/** The maximum length of a description that is made from instructions, in characters. */
const maxNote = 80;

/** What the agents of a mode may do. A later version of the hub may have other tool profiles. */
export function toolsNote(profile: string, t: Texts): string {
  return new Map([["all", t.modeToolsAll], ["show", t.modeToolsShow], ["read", t.modeToolsRead]]).get(profile) ?? profile;
}

/** The texts of the modes that the hub ships, with the names that they have there. */
function shippedTexts(t: Texts): Partial<Record<string, { english: string; name: string; note: string }>> {
  return {
    code: { english: "Code", name: t.modeCode, note: t.modeCodeNote },
    architect: { english: "Architect", name: t.modeArchitect, note: t.modeArchitectNote },
    ask: { english: "Ask", name: t.modeAsk, note: t.modeAskNote },
    debug: { english: "Debug", name: t.modeDebug, note: t.modeDebugNote },
  };
}
