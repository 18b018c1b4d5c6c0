import { LoaderCircle } from "lucide-react";
import type { ReactNode } from "react";
import { type ButtonComponent, hasEnded } from "../../../../core/src/index.js";
import { useTexts } from "../../i18n/use.js";
import { useShell } from "../../shell/context.js";
import { content as texts } from "../../texts/content.js";
import { Button } from "../../ui/button.js";

/** A button of an agent, with the status of the last click. */
export function ActionButton({ button: b, sent: id, onPress }: { button: ButtonComponent; sent: string | undefined; onPress: () => void }): ReactNode {
  const t = useTexts(texts);
  const sent = useShell((s) => (id === undefined ? undefined : s.outbox.items.find((i) => i.id === id)));
  const sending = sent?.status === "sending";
  const working = sent !== undefined && !sending && !hasEnded(sent);
  const failed = sent?.status === "rejected" || sent?.status === "failed";
  return (
    <>
      <Button
        kind={b.variant ?? "secondary"}
        size={b.size === "sm" ? "sm" : "md"}
        className={b.size === "lg" ? "content-button-lg" : ""}
        disabled={b.disabled === true}
        aria-busy={sending}
        onClick={onPress}
      >
        {b.icon !== undefined && !/^[a-z-]+$/i.test(b.icon) && <span aria-hidden>{b.icon}</span>}
        {b.label}
        {sending && <LoaderCircle size={14} className="content-spin" role="img" aria-label={t.sending} />}
        {working && <span className="content-working" role="img" aria-label={t.working} />}
      </Button>
      {failed && <p className="content-press-failed" role="alert">{t.pressFailed(sent.reason ?? "")}</p>}
    </>
  );
}
