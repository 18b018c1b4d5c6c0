import { ExternalLink } from "lucide-react";
import type { ReactNode } from "react";
import { createPortal } from "react-dom";
import { useWords } from "../i18n/use.js";
import { Button } from "../ui/button.js";
import { Modal } from "../ui/modal.js";
import texts from "./words.js";

/** Asks before an address that an agent wrote is opened, and shows all of it. */
export function Leave({ url, onClose }: { url: string; onClose: () => void }): ReactNode {
  const t = useWords(texts);
  const go = (): void => {
    globalThis.open(url, "_blank", "noopener,noreferrer");
    onClose();
  };
  // Windows hear keys and clicks of what is inside them; this is not.
  const stop = (e: { stopPropagation: () => void }): void => e.stopPropagation();
  return createPortal(
    <div onPointerDown={stop} onClick={stop} onKeyDown={stop}>
      <Modal title={t.leaveTitle} closeLabel={t.close} onClose={onClose}>
        <p>{t.leaveText}</p>
        <p className="content-url">{url}</p>
        <div className="content-actions">
          <Button onClick={onClose}>{t.cancel}</Button>
          <Button kind="primary" icon={ExternalLink} onClick={go}>
            {t.leaveOpen}
          </Button>
        </div>
      </Modal>
    </div>,
    document.body,
  );
}
