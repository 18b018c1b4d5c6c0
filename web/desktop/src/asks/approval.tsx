import { Check, ShieldCheck, X } from "lucide-react";
import { type ReactNode, type RefObject, useEffect } from "react";
import type { ApprovalRequest } from "../../../core/src/index.js";
import { useTexts } from "../i18n/use.js";
import { useCommands } from "../shell/context.js";
import { asks as texts } from "../texts/asks.js";
import { Button } from "../ui/button.js";
import { Kbd } from "../ui/kbd.js";
import { usePress } from "./arming.js";
import { consequenceOf, hubQuestionOf } from "./facts.js";
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
  const permission = request.permissionOptions;
  const rememberable = permission?.showRememberChoice === true;
  const consequence = consequenceOf({ request }, t);

  const answer = (confirmed: boolean, always = false): void => {
    const remember = !rememberable ? undefined : !always ? "once" : confirmed ? "always" : "deny_always";
    if (commands.answerDialog(request.dialogId, confirmed, remember) === undefined) commands.notify(t.full, "warning");
  };
  useEffect(() => {
    keys.current = { approve: () => answer(true), reject: () => answer(false) };
  });
  // The agent that asks for a permission does not choose the labels of the buttons.
  const approveLabel = permission === undefined && request.confirmText ? escapeInvisible(request.confirmText) : (consequence?.verb ?? t.approve);
  const rejectLabel = permission === undefined && request.cancelText ? escapeInvisible(request.cancelText) : (hubQuestionOf({ request }, t)?.refuse ?? t.reject);
  return (
    <>
      <div className="asks-buttons">
        <LaterButton onLater={onLater} />
        <Button icon={X} {...press(() => answer(false))} aria-keyshortcuts="R">
          {rejectLabel}
          <Kbd combo="r" />
        </Button>
        {rememberable && (
          <Button title={t.neverAllowHint} {...press(() => answer(false, true))}>
            {t.neverAllow}
          </Button>
        )}
        {rememberable && (
          <Button icon={ShieldCheck} {...press(() => answer(true, true))}>
            {t.alwaysAllow}
          </Button>
        )}
        {/* A permission may allow something that cannot be undone, so its approve button is not the primary one. */}
        <Button kind={consequence?.danger === true ? "danger" : permission === undefined ? "primary" : "secondary"} icon={Check} {...press(() => answer(true))} aria-keyshortcuts="A">
          {approveLabel}
          <Kbd combo="a" />
        </Button>
      </div>
    </>
  );
}
