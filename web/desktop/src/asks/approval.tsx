import { Check, X } from "lucide-react";
import { type ReactNode, type RefObject, useEffect, useId, useState } from "react";
import type { ApprovalRequest } from "../../../core/src/index.js";
import { useTexts } from "../i18n/use.js";
import { useCommands } from "../shell/context.js";
import { asks as texts } from "../texts/asks.js";
import { Button } from "../ui/button.js";
import { Kbd } from "../ui/kbd.js";
import { usePress } from "./arming.js";
import { escapeInvisible } from "./invisible.js";
import { LaterButton } from "./later-button.js";
import type { AnswerKeys } from "./view.js";

interface ApprovalFormProps {
  request: ApprovalRequest;
  ready: boolean;
  keys: RefObject<AnswerKeys>;
  onLater: (() => void) | undefined;
}

export function ApprovalForm({ request, ready, keys, onLater }: ApprovalFormProps): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const press = usePress(ready);
  const group = useId();
  const [always, setAlways] = useState(false);
  const permission = request.permissionOptions;
  const rememberable = permission?.showRememberChoice === true;
  const remembers = rememberable && always;

  const answer = (confirmed: boolean): void => {
    const remember = !rememberable ? undefined : !always ? "once" : confirmed ? "always" : "deny_always";
    if (commands.answerDialog(request.dialogId, confirmed, remember) === undefined) commands.notify(t.full, "warning");
  };
  useEffect(() => {
    keys.current = { approve: () => answer(true), reject: () => answer(false) };
  });
  // The agent that asks for a permission does not choose the labels of the buttons.
  const approveLabel = permission === undefined && request.confirmText ? escapeInvisible(request.confirmText) : remembers ? t.alwaysApprove : t.approve;
  const rejectLabel = permission === undefined && request.cancelText ? escapeInvisible(request.cancelText) : remembers ? t.alwaysReject : t.reject;
  return (
    <>
      {rememberable && (
        <fieldset className="asks-remember">
          <legend>{t.remember}</legend>
          {[false, true].map((choice) => (
            <label key={String(choice)}>
              <input type="radio" name={group} checked={always === choice} onChange={() => setAlways(choice)} />
              {choice ? t.rememberAlways : t.rememberOnce}
            </label>
          ))}
        </fieldset>
      )}
      <div className="asks-buttons">
        <LaterButton onLater={onLater} />
        <Button icon={X} {...press(() => answer(false))} aria-keyshortcuts="R">
          {rejectLabel}
          <Kbd combo="r" />
        </Button>
        {/* A permission may allow something that cannot be undone, so its approve button is not the primary one. */}
        <Button kind={permission === undefined ? "primary" : "secondary"} icon={Check} {...press(() => answer(true))} aria-keyshortcuts="A">
          {approveLabel}
          <Kbd combo="a" />
        </Button>
      </div>
    </>
  );
}
