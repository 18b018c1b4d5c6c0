import { MailCheck } from "lucide-react";
import { type ReactNode, useId } from "react";
import { useTexts } from "../i18n/use.js";
import { asks as texts } from "../texts/asks.js";
import { useArmed } from "./arming.js";
import { type Ask, versionOf } from "./order.js";
import { useAsks } from "./use.js";
import { AskView } from "./view.js";

/** The questions of all monitors, each with its answer buttons. */
export function Inbox(): ReactNode {
  const t = useTexts(texts);
  const asks = useAsks();
  // A question that appears or closes moves the others, so all are disarmed for a moment.
  const armed = useArmed(asks.map(versionOf).join(" "));
  if (asks.length === 0) {
    return (
      <div className="empty">
        <MailCheck size={28} aria-hidden />
        <p>{t.empty}</p>
        <small>{t.emptyHint}</small>
      </div>
    );
  }
  return (
    <>
      <p className="asks-count">{t.inboxCount(asks.length)}</p>
      <ul className="asks-list">
        {asks.map((ask) => (
          <Item key={versionOf(ask)} ask={ask} armed={armed} />
        ))}
      </ul>
    </>
  );
}

function Item({ ask, armed }: { ask: Ask; armed: boolean }): ReactNode {
  const title = useId();
  return (
    <li className="asks-item" data-ask={ask.id}>
      <AskView ask={ask} armed={armed} titleId={title} />
    </li>
  );
}
