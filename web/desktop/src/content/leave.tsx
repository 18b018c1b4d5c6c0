import { ExternalLink } from "lucide-react";
import type { ReactNode } from "react";
import { createPortal } from "react-dom";
import { useArmed, usePress } from "../asks/arming.js";
import { useTexts } from "../i18n/use.js";
import { content as texts } from "../texts/entry.js";
import { Button } from "../ui/button.js";
import { Modal } from "../ui/modal.js";
import { hostOf, outside } from "./addresses.js";

/**
 * Asks before an address that an agent wrote is opened, and shows all of it. Whoever placed the link may have placed this
 * under a hand that clicks twice, so that the answer counts only after a while.
 */
export function Leave({ address, onClose }: { address: string; onClose: () => void }): ReactNode {
  const t = useTexts(texts);
  const url = outside(address);
  const press = usePress(useArmed(address));
  const go = (): void => {
    globalThis.open(url, "_blank", "noopener,noreferrer");
    onClose();
  };
  // Windows hear keys and clicks of what is inside them; this is not.
  const stop = (e: { stopPropagation: () => void }): void => e.stopPropagation();
  return createPortal(
    <div onPointerDown={stop} onClick={stop} onKeyDown={stop}>
      <Modal title={t.leaveTitle} closeLabel={t.close} onClose={onClose}>
        <p>{url === undefined ? t.badAddress : t.leaveText}</p>
        {url !== undefined && <p className="content-host">{hostOf(url)}</p>}
        <p className="content-url">{url ?? address}</p>
        <div className="content-actions">
          <Button onClick={onClose}>{t.cancel}</Button>
          {url !== undefined && (
            <Button kind="primary" icon={ExternalLink} {...press(go)}>
              {t.leaveOpen}
            </Button>
          )}
        </div>
      </Modal>
    </div>,
    document.body,
  );
}
