// The auto-approval rules as a form shows them.

import type { AutoApproval } from "../../../core/src/index.js";

const flagNames = [
  "autoApprovalEnabled",
  "alwaysAllowReadOnly",
  "alwaysAllowReadOnlyOutsideWorkspace",
  "alwaysAllowWrite",
  "alwaysAllowWriteOutsideWorkspace",
  "alwaysAllowWriteProtected",
  "alwaysAllowExecute",
  "alwaysAllowMcp",
  "alwaysAllowSubtasks",
  "alwaysAllowModeSwitch",
  "alwaysAllowAfterOutsideData",
] as const;

/** A rule that is on or off. */
export type Flag = (typeof flagNames)[number];

/** The rules as they are typed. */
export interface Draft {
  /** The rules, with those that the form does not show. */
  readonly base: AutoApproval;
  readonly flags: Readonly<Record<Flag, boolean>>;
  /** Lists with one entry per line. */
  readonly allowed: string;
  readonly denied: string;
  readonly tools: string;
  /** Limits; empty means none. */
  readonly requests: string;
  readonly cost: string;
}

/** The form of rules; rules that were never set are all off. */
export function draftOf(rules: AutoApproval | undefined): Draft {
  const base = rules ?? {};
  const amount = (n: number | undefined): string => (n === undefined || n === 0 ? "" : String(n));
  return {
    base,
    flags: Object.fromEntries(flagNames.map((f) => [f, base[f] === true])) as Record<Flag, boolean>,
    allowed: (base.allowedCommands ?? []).join("\n"),
    denied: (base.deniedCommands ?? []).join("\n"),
    tools: (base.allowedMcpTools ?? []).join("\n"),
    requests: amount(base.allowedMaxRequests),
    cost: amount(base.allowedMaxCost),
  };
}

/** The rules of a form. Limits that are no numbers count as none. */
export function rulesOf(d: Draft): AutoApproval {
  const amount = (text: string): number => Math.max(0, Number(text) || 0);
  return {
    ...d.base,
    ...d.flags,
    allowedCommands: linesOf(d.allowed),
    deniedCommands: linesOf(d.denied),
    allowedMcpTools: linesOf(d.tools),
    allowedMaxRequests: Math.floor(amount(d.requests)),
    allowedMaxCost: amount(d.cost),
  };
}

/** The entries of a list, without spaces around them and each once. */
function linesOf(text: string): string[] {
  return [...new Set(text.split("\n").map((line) => line.trim()))].filter((line) => line !== "");
}
