import { FoldVertical, Scissors, TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";
import type { UIRow } from "../../../core/src/index.js";
import { Markdown } from "../content/index.js";
import { condenseFailure, useHistoryReason } from "../history/reasons.js";
import { useFormat, useTexts } from "../i18n/use.js";
import { history as historyTexts } from "../texts/history.js";
import { Collapsible } from "./collapsible.js";
import { CopyButton } from "./copy.js";

/** A condensed model history: the numbers of tokens, and the summary. */
export function Condensed({ row }: { row: UIRow }): ReactNode {
  const t = useTexts(historyTexts);
  const format = useFormat();
  const c = row.contextCondense;
  const parts = c === undefined ? [] : [t.fromTo(format.number(c.prevContextTokens), format.number(c.newContextTokens)), ...(c.cost > 0 ? [format.usd(c.cost)] : [])];
  const summary = c?.summary || row.text || "";
  return (
    <>
      <Collapsible
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
      </Collapsible>
      <CopyButton text={summary} />
    </>
  );
}

export function CondenseFailed({ row }: { row: UIRow }): ReactNode {
  const t = useTexts(historyTexts);
  const format = useFormat();
  const why = useHistoryReason()(condenseFailure(row.text ?? ""), row.reasonCode);
  const cost = row.contextCondense?.cost ?? 0;
  return (
    <>
      <TriangleAlert size={12} aria-hidden />
      <span className="drawer-line-text">{[why === "" ? t.condenseFailed : `${t.condenseFailed}: ${why}`, ...(cost > 0 ? [format.usd(cost)] : [])].join(" · ")}</span>
    </>
  );
}

/** A truncation: the oldest messages are hidden from the model, but not from users. */
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
