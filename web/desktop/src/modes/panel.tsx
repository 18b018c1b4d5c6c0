import "../models/models.css";
import "./modes.css";
import { Plus, RefreshCw } from "lucide-react";
import { type ReactNode, useCallback, useEffect, useState } from "react";
import { useTexts } from "../i18n/use.js";
import { reasonOf } from "../models/panel.js";
import type { Mode } from "../shell/api.js";
import { useCommands, useShell } from "../shell/context.js";
import { modes as texts } from "../texts/modes.js";
import { Button } from "../ui/button.js";
import { Modal } from "../ui/modal.js";
import { ModeForm } from "./form.js";
import { ModeRow } from "./row.js";
import { SessionInstructions } from "./session-instructions.js";

/** The mode in the form: a stored one, or undefined for a new one. */
interface Edited {
  mode: Mode | undefined;
}

/** The page of the modes of the user, and of the instructions of this session. */
export function ModesPanel(): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const modes = useShell((s) => s.modes);
  const [reason, setReason] = useState("");
  const [edited, setEdited] = useState<Edited>();
  /** The id of the mode whose form was closed, to focus its button; empty for a new one. */
  const [left, setLeft] = useState<string>();
  const read = useCallback(async (): Promise<void> => {
    setReason("");
    await commands.loadModes().catch((error: unknown) => setReason(reasonOf(error)));
  }, [commands]);
  useEffect(() => void read(), [read]);
  const leave = (): void => {
    setLeft(edited?.mode?.id ?? "");
    setEdited(undefined);
  };
  return (
    <Modal title={t.title} closeLabel={t.close} onClose={() => commands.openPanel("")} shape="wide">
      {modes === undefined && reason === "" && <p role="status">{t.reading}</p>}
      {reason !== "" && (
        <div role="alert" className="models-failed">
          <p>{t.failed(reason)}</p>
          <Button icon={RefreshCw} onClick={() => void read()}>
            {t.again}
          </Button>
        </div>
      )}
      {modes !== undefined && edited !== undefined && <ModeForm mode={edited.mode} modes={modes} onLeave={leave} />}
      {modes !== undefined && edited === undefined && (
        <section className="models-list" aria-label={t.yours}>
          <h3>{t.yours}</h3>
          <p className="models-note">{t.lead}</p>
          <ul>
            {modes.modes.map((m) => (
              <ModeRow key={m.id} mode={m} version={modes.version} focused={left === m.id} onEdit={() => setEdited({ mode: m })} />
            ))}
          </ul>
          <div className="models-actions">
            <Button icon={Plus} autoFocus={left === ""} onClick={() => setEdited({ mode: undefined })} data-modes="add">
              {t.add}
            </Button>
          </div>
        </section>
      )}
      {edited === undefined && <SessionInstructions />}
    </Modal>
  );
}
