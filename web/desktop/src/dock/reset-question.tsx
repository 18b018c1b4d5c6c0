import type { ReactNode } from "react";
import { useTexts } from "../i18n/use.js";
import { useCommands } from "../shell/context.js";
import { slash as texts } from "../texts/slash.js";
import { Button } from "../ui/button.js";
import { Modal } from "../ui/modal.js";

/** Asks whether to close and forget everything. */
export function ResetQuestion({ onClose }: { onClose: () => void }): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  return (
    <Modal title={t.resetTitle} closeLabel={t.close} onClose={onClose}>
      <p>{t.resetText}</p>
      <div className="dock-question">
        <Button onClick={onClose}>{t.cancel}</Button>
        <Button
          kind="danger"
          onClick={() => {
            commands.reset();
            onClose();
          }}
        >
          {t.resetDo}
        </Button>
      </div>
    </Modal>
  );
}
