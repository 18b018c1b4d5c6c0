// Translates the hub's reasons for rejecting a change of the history by their codes.

import { useCallback } from "react";
import type { reasonCodes } from "../../../core/src/index.js";
import { useReason } from "../drawer/reasons.js";
import { useTexts } from "../i18n/use.js";
import { history as texts } from "../texts/history.js";

const reasons = {
  history_changed: "whyChanged",
  row_not_found: "whyNoRow",
  row_too_old: "whyOldRow",
  agent_busy: "whyBusy",
  too_short: "whyShort",
  condensed_recently: "whyRecently",
  no_summary: "whyNoSummary",
  no_provider: "whyNoProvider",
  over_budget: "whyBudget",
  too_many_agents: "whyManyAgents",
  content_changed: "whyContent",
} as const satisfies Record<keyof typeof reasonCodes, keyof (typeof texts)["en"]>;

export type Reason = (typeof reasons)[keyof typeof reasons];

/** The text for a reason code; undefined for no code and for one that this page does not know. */
export function reasonOf(code: string | undefined): Reason | undefined {
  return code !== undefined && Object.hasOwn(reasons, code) ? reasons[code as keyof typeof reasons] : undefined;
}

/** The reason in the row of a failed condensation, without the hub's English sentence around it. Rows of older hubs have another sentence. */
export function condenseFailure(text: string): string {
  return text.replace(/^The conversation was not (summarised|summed up): /, "");
}

/** Returns a function that translates a reason. A reason without a known code is shown as the hub wrote it. */
export function useHistoryReason(): (text: string, code: string | undefined) => string {
  const t = useTexts(texts);
  const other = useReason();
  return useCallback(
    (text, code) => {
      const reason = reasonOf(code);
      return reason === undefined ? other(text) : t[reason];
    },
    [t, other],
  );
}
