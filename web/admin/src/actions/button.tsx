import { type ReactNode, useId } from "react";
import { Button } from "../../../desktop/src/ui/button.js";
import { useTexts } from "../i18n/use.js";
import { useActions, usePage } from "../state/use.js";
import { actions as texts } from "../texts.js";
import type { AdminAction } from "./action.js";

interface ActionButtonProps {
  action: AdminAction;
  danger?: boolean;
  /** Why it cannot be done now. */
  refused?: string;
  label?: string;
  children: ReactNode;
}

/** Opens the dialog of an admin action. Without the permission the button stays visible, disabled, and names the reason. */
export function ActionButton({ action, danger = false, refused, label, children }: ActionButtonProps): ReactNode {
  const t = useTexts(texts);
  const { openAction } = useActions();
  const act = usePage((s) => s.me?.act === true);
  const why = useId();
  const reason = act ? refused : t.mayNot;
  return (
    <>
      <Button
        size="sm"
        className={danger ? "action-danger" : undefined}
        aria-label={label}
        aria-disabled={reason !== undefined}
        aria-describedby={reason === undefined ? undefined : why}
        title={reason}
        data-admin-action={action.kind}
        data-target={action.target}
        onClick={() => {
          if (reason === undefined) openAction(action);
        }}
      >
        {children}
      </Button>
      {reason !== undefined && (
        <span id={why} className="hidden-text">
          {reason}
        </span>
      )}
    </>
  );
}
