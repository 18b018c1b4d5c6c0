import { FoldVertical, Scissors, TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";
import type { UIRow } from "../../../core/src/index.js";
import { Markdown } from "../content/index.js";
import { useHistoryReason, whyIn } from "../history/reasons.js";
import { useFormat, useTexts } from "../i18n/use.js";
import { history as historyTexts } from "../texts/parts.js";
import { CopyButton } from "./copy.js";
import { Fold } from "./fold.js";

/** Where the model's history was summed up: with the numbers, and the summary inside. */
export function Condensed({ row }: { row: UIRow }): ReactNode {
  const t = useTexts(historyTexts);
  const format = useFormat();
  const c = row.contextCondense;
  const parts = c === undefined ? [] : [t.fromTo(format.number(c.prevContextTokens), format.number(c.newContextTokens)), ...(c.cost > 0 ? [format.usd(c.cost)] : [])];
  const summary = c?.summary || row.text || "";
  return (
    <>
      <Fold
        icon={FoldVertical}
        title={
          <>
            <b>{t.condensed}</b>
            <span>{parts.join(" · ")}</span>
          </>
        }
      >
        <div className="drawer-text">
          <Markdown text={summary} />
        </div>
      </Fold>
      <CopyButton text={summary} />
    </>
  );
}

export function CondenseFailed({ row }: { row: UIRow }): ReactNode {
  const t = useTexts(historyTexts);
  const format = useFormat();
  const why = useHistoryReason()(whyIn(row.text ?? ""));
  const cost = row.contextCondense?.cost ?? 0;
  return (
    <>
      <TriangleAlert size={12} aria-hidden />
      <span className="drawer-line-text">{[why === "" ? t.condenseFailed : `${t.condenseFailed}: ${why}`, ...(cost > 0 ? [format.usd(cost)] : [])].join(" · ")}</span>
    </>
  );
}

/** Where the oldest messages were hidden from the model. People still see them. */
export function Truncated({ row }: { row: UIRow }): ReactNode {
  const t = useTexts(historyTexts);
  const format = useFormat();
  const c = row.contextTruncation;
  const parts = c === undefined ? [row.text ?? ""] : [t.hidden(format.number(c.messagesRemoved)), t.fromTo(format.number(c.prevContextTokens), format.number(c.newContextTokens))];
  return (
    <>
      <Scissors size={12} aria-hidden />
      <span className="drawer-line-text">{[t.truncated, ...parts.filter((p) => p !== "")].join(" · ")}</span>
    </>
  );
}
