// Translates the reasons of the hub, which are in English. Unknown reasons are shown as they are.

import { useCallback } from "react";
import { useTexts } from "../i18n/use.js";
import { reasons as texts } from "../texts/reasons.js";

export type Reason = Exclude<keyof (typeof texts)["en"], "toolMayHaveRun">;

const reasons: Readonly<Record<string, Reason>> = {
  "the turn was interrupted": "interrupted",
  "the turn it works for has ended": "parentEnded",
  "the turn it works for was cut off": "parentCut",
  "the turn it works for was interrupted": "parentInterrupted",
  "the window was closed": "windowClosed",
  "the desktop was reset": "reset",
  "the monitor was removed": "monitorRemoved",
  "what it has done so far is not known well enough to go on": "unknownState",
  "what the agent said or did at once is too large to be kept": "tooLarge",
  "what comes of the message is too large to be kept": "tooLarge",
  "the messages that wait already are too long": "queueFull",
  "the session has too much to do": "queueFull",
  "no agent is available in this session": "noAgent",
  "the session was deleted": "deleted",
  "the conversation was rewound": "rewound",
  "the agent lost its slot": "lostSlot",
};

/** The classes of provider errors, which precede the provider's own text. */
const classes: Readonly<Record<string, Reason>> = {
  auth: "auth",
  rate: "rate",
  overloaded: "overloaded",
  transport: "transport",
  context_length: "contextLength",
  refused: "refused",
  invalid: "invalid",
};

/** A recognized reason, and the part of its text that cannot be translated. */
export interface ParsedReason {
  readonly reason: Reason | "toolMayHaveRun" | undefined;
  readonly about: string;
}

export function parseReason(text: string): ParsedReason {
  if (Object.hasOwn(reasons, text)) return { reason: reasons[text], about: "" };
  const tool = /^tool (\S+) may or may not have run$/.exec(text)?.[1];
  if (tool !== undefined) return { reason: "toolMayHaveRun", about: tool };
  if (/^monitor-\d+ is over its budget of /.test(text)) return { reason: "overBudget", about: "" };
  if (/^the turn was cut off \d+ times$/.test(text)) return { reason: "cutOften", about: "" };
  const [, kind = "", rest = ""] = /^(\w+): (.*)$/s.exec(text) ?? [];
  return Object.hasOwn(classes, kind) ? { reason: classes[kind], about: rest } : { reason: undefined, about: text };
}

/** Returns a function that translates a reason. */
export function useReason(): (text: string) => string {
  const why = useTexts(texts);
  return useCallback(
    (text) => {
      const { reason, about } = parseReason(text);
      if (reason === undefined) return about;
      if (reason === "toolMayHaveRun") return why.toolMayHaveRun(about);
      return about === "" ? why[reason] : `${why[reason]} (${about})`;
    },
    [why],
  );
}
