import { CircleAlert } from "lucide-react";
import type { ReactNode } from "react";
import type { MessageID, MonitorID } from "../../../core/src/index.js";
import { useTexts } from "../i18n/use.js";
import { useCommands } from "../shell/context.js";
import { useHasAccount } from "../shell/select.js";
import { drawer as texts } from "../texts/drawer.js";
import { Button } from "../ui/button.js";
import { CopyButton } from "./copy.js";
import { useReason } from "./reasons.js";
import { useMessageContent, useResend } from "./resend.js";
import { remedyOf } from "./tool.js";

interface Props {
  reason: string;
  messageId: MessageID | undefined;
  monitorId: MonitorID;
  /** The name of the monitor, where rows of several are mixed. */
  tag: ReactNode;
}

/** The error of a turn, with advice. */
export function ErrorCard({ reason, messageId, monitorId, tag }: Props): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const resend = useResend();
  const message = useMessageContent(messageId);
  const inWords = useReason();
  const remedy = remedyOf(reason);
  const hasAccount = useHasAccount();
  const advice = { connect: hasAccount ? t.connectText : undefined, wait: t.waitText, shorten: t.shortenText, again: undefined }[remedy];
  return (
    <>
      <div className="drawer-row-head">
        {tag}
        <CircleAlert size={14} aria-hidden className="drawer-danger" />
        <span className="drawer-row-name">{t.errorTitle}</span>
        <CopyButton text={reason} />
      </div>
      {reason !== "" && <p className="drawer-reason">{inWords(reason)}</p>}
      {advice !== undefined && <p>{advice}</p>}
      <div className="drawer-actions">
        {remedy === "connect" && hasAccount && (
          <Button size="sm" kind="primary" onClick={() => commands.openPanel("connect")}>
            {t.connect}
          </Button>
        )}
        {message !== undefined && (
          <Button size="sm" onClick={() => resend({ ...message, monitorId })}>
            {t.sendAgain}
          </Button>
        )}
      </div>
    </>
  );
}
