import { ExternalLink } from "lucide-react";
import type { ReactNode } from "react";
import { createPortal } from "react-dom";
import { useArmed, usePress } from "../asks/arming.js";
import { useTexts } from "../i18n/use.js";
import { content as texts } from "../texts/content.js";
import { Button } from "../ui/button.js";
import { Modal } from "../ui/modal.js";
import { externalURL, hostOf } from "./addresses.js";

/**
 * Asks before opening an address that an agent wrote, and shows it in full. The link may have been placed so that a
 * double click also hits this dialog, so the button is armed only after a delay.
 */
export function LeaveDialog({ address, onClose }: { address: string; onClose: () => void }): ReactNode {
  const t = useTexts(texts);
  const url = externalURL(address);
  const press = usePress(useArmed(address));
  const openAddress = (): void => {
    globalThis.open(url, "_blank", "noopener,noreferrer");
    onClose();
  };
  // The events of a portal bubble to the React parents, so the window must not handle them.
  const stop = (e: { stopPropagation: () => void }): void => e.stopPropagation();
  return createPortal(
    <div onPointerDown={stop} onClick={stop} onKeyDown={stop}>
      <Modal title={t.leaveTitle} closeLabel={t.close} onClose={onClose}>
        <p>{url === undefined ? t.badAddress : t.leaveText}</p>
        {url !== undefined && <p className="content-host">{hostOf(url)}</p>}
        <p className="content-url" tabIndex={0} role="group" aria-label={t.leaveTitle}>
          {url ?? address}
        </p>
        <div className="content-actions">
          <Button onClick={onClose}>{t.cancel}</Button>
          {url !== undefined && (
            <Button kind="primary" icon={ExternalLink} {...press(openAddress)}>
              {t.leaveOpen}
            </Button>
          )}
        </div>
      </Modal>
    </div>,
    document.body,
  );
}
