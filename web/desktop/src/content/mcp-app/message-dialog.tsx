import { Send } from "lucide-react";
import type { ReactNode } from "react";
import { createPortal } from "react-dom";
import { useArmed, usePress } from "../../asks/arming.js";
import { useTexts } from "../../i18n/use.js";
import { mcpApp as texts } from "../../texts/mcp-app.js";
import { Button } from "../../ui/button.js";
import { Modal } from "../../ui/modal.js";

/** Asks before a text that a view wrote becomes a message of the user, and shows it in full. */
export function MessageDialog({ server, text, onAnswer }: { server: string; text: string; onAnswer: (send: boolean) => void }): ReactNode {
  const t = useTexts(texts);
  const press = usePress(useArmed(text));
  // The events of a portal bubble to the React parents, so the window must not handle them.
  const stop = (e: { stopPropagation: () => void }): void => e.stopPropagation();
  return createPortal(
    <div onPointerDown={stop} onClick={stop} onKeyDown={stop}>
      <Modal title={t.messageTitle} closeLabel={t.close} onClose={() => onAnswer(false)}>
        <p>{t.messageText(server)}</p>
        <pre className="content-offer" tabIndex={0} role="group" aria-label={t.messageTitle}>
          {text}
        </pre>
        <div className="content-actions">
          <Button onClick={() => onAnswer(false)}>{t.cancel}</Button>
          <Button kind="primary" icon={Send} {...press(() => onAnswer(true))}>
            {t.send}
          </Button>
        </div>
      </Modal>
    </div>,
    document.body,
  );
}
