import { CircleX, Pause, PencilLine, Play } from "lucide-react";
import { type KeyboardEvent, type ReactNode, useId, useState } from "react";
import { useTexts } from "../i18n/use.js";
import { useShell } from "../shell/context.js";
import { plan as texts } from "../texts/plan.js";
import { Button } from "../ui/button.js";
import { isComposing } from "../ui/keys.js";
import { Modal } from "../ui/modal.js";
import { useControl, useLastControl } from "./control.js";
import { isUnderWay, type Phase } from "./facts.js";

/** The buttons that control the plan while it is under way. */
export function Controls({ phase }: { phase: Phase }): ReactNode {
  const t = useTexts(texts);
  const control = useControl();
  const [asking, setAsking] = useState(false);
  const [changing, setChanging] = useState(false);
  if (!isUnderWay(phase)) return <StatusText />;
  const editable = phase === "running" || phase === "paused";
  return (
    <div className="plan-controls" role="group" aria-label={t.controls}>
      {changing && editable && (
        <Instruction
          onDone={() => setChanging(false)}
          onSend={(text) => {
            if (control("control_resume", { modifications: [text] })) setChanging(false);
          }}
        />
      )}
      <div className="plan-buttons">
        {phase === "paused" ? (
          <Button size="sm" kind="primary" icon={Play} onClick={() => control("control_resume", {})}>
            {t.resume}
          </Button>
        ) : (
          <Button size="sm" icon={Pause} onClick={() => control("control_pause", {})}>
            {t.pause}
          </Button>
        )}
        {editable && !changing && (
          <Button size="sm" icon={PencilLine} onClick={() => setChanging(true)}>
            {t.change}
          </Button>
        )}
        <Button size="sm" kind="ghost" icon={CircleX} className="plan-give-up" onClick={() => setAsking(true)}>
          {t.cancel}
        </Button>
      </div>
      <StatusText />
      {asking && <CancelDialog onClose={() => setAsking(false)} onDo={() => control("control_cancel", {})} />}
    </div>
  );
}

/** The status of the last control command, while it is pending or rejected. */
function StatusText(): ReactNode {
  const t = useTexts(texts);
  const last = useLastControl();
  const live = useShell((s) => s.link.phase === "live");
  const refused = last?.status === "rejected";
  return (
    <p className={refused ? "plan-outcome plan-outcome-refused" : "plan-outcome"} role="status">
      {last?.status === "sending" && (live ? t.sending : t.waiting)}
      {refused && t.refused(last.reason || t.noReason)}
    </p>
  );
}

interface InstructionProps {
  onSend: (text: string) => void;
  onDone: () => void;
}

/** The form for an instruction that changes the plan. */
function Instruction({ onSend, onDone }: InstructionProps): ReactNode {
  const t = useTexts(texts);
  const [text, setText] = useState("");
  const hint = useId();
  const send = (): void => {
    if (text.trim() !== "") onSend(text.trim().normalize("NFC"));
  };
  const press = (e: KeyboardEvent): void => {
    if (isComposing(e)) return;
    if (e.key === "Escape") {
      e.stopPropagation();
      onDone();
    } else if (e.key === "Enter" && !e.shiftKey) {
      e.preventDefault();
      send();
    }
  };
  return (
    <form
      className="plan-change"
      onSubmit={(e) => {
        e.preventDefault();
        send();
      }}
    >
      <label>
        <span>{t.changeLabel}</span>
        <textarea className="field" rows={2} autoFocus value={text} aria-describedby={hint} onChange={(e) => setText(e.target.value)} onKeyDown={press} />
      </label>
      <small id={hint}>{t.changeHint}</small>
      <div className="plan-buttons">
        <Button size="sm" onClick={onDone}>
          {t.back}
        </Button>
        <Button size="sm" kind="primary" type="submit" disabled={text.trim() === ""}>
          {t.changeSend}
        </Button>
      </div>
    </form>
  );
}

function CancelDialog({ onClose, onDo }: { onClose: () => void; onDo: () => void }): ReactNode {
  const t = useTexts(texts);
  return (
    <Modal title={t.cancelTitle} closeLabel={t.keep} onClose={onClose}>
      <p>{t.cancelText}</p>
      <div className="plan-question">
        <Button onClick={onClose}>{t.keep}</Button>
        <Button
          kind="danger"
          onClick={() => {
            onDo();
            onClose();
          }}
        >
          {t.cancelDo}
        </Button>
      </div>
    </Modal>
  );
}
