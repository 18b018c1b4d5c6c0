// Translates the hub's reasons for rejecting a change of the history, which are in English.

import { useCallback } from "react";
import { useReason } from "../drawer/reasons.js";
import { useTexts } from "../i18n/use.js";
import { history as texts } from "../texts/parts.js";

export type Reason = "whyChanged" | "whyNoRow" | "whyOldRow" | "whyBusy" | "whyShort" | "whyRecently" | "whyNoSummary" | "whyNobody" | "whyBudget";

const reasons: readonly (readonly [begins: string, reason: Reason])[] = [
  ["the conversation is not what it was", "whyChanged"],
  ["the conversation has no such row", "whyNoRow"],
  ["there is no such row in the conversation", "whyNoRow"],
  ["the row is older than ids of rows", "whyOldRow"],
  ["the agent is busy", "whyBusy"],
  ["there is not enough to sum up", "whyShort"],
  ["this was summed up a moment ago", "whyRecently"],
  ["the model gave no summary", "whyNoSummary"],
  ["there is nobody who could sum it up", "whyNobody"],
  ["the monitor is over its budget", "whyBudget"],
];

/** The known reason that a text of the hub starts with. */
export function reasonIn(text: string): Reason | undefined {
  return reasons.find(([begins]) => text.startsWith(begins))?.[1];
}

/** The reason in the row of a failed condensation, without the hub's English sentence around it. */
export function condenseFailure(text: string): string {
  return text.replace(/^The conversation was not summed up: /, "");
}

/** Returns a function that translates a reason. */
export function useHistoryReason(): (text: string) => string {
  const t = useTexts(texts);
  const other = useReason();
  return useCallback(
    (text) => {
      const reason = reasonIn(text);
      return reason === undefined ? other(text) : t[reason];
    },
    [t, other],
  );
}
