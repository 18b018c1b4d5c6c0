import { type FormEvent, type ReactNode, useEffect, useId, useRef, useState } from "react";
import { Button } from "../../../desktop/src/ui/button.js";
import { Modal } from "../../../desktop/src/ui/modal.js";
import { newKey, ProblemError } from "../api/api.js";
import { useTexts } from "../i18n/use.js";
import { useActions, usePage } from "../state/use.js";
import { actions as texts } from "../texts.js";
import { type AdminAction, isReady, maxReasonLength } from "./action.js";

/** Collects the inputs of an admin action, runs it and shows the outcome. */
export function ActionDialog(): ReactNode {
  const action = usePage((s) => s.action);
  return action === undefined ? null : <Dialog key={`${action.kind} ${action.target}`} action={action} />;
}

type Outcome = { readonly state: "asking" | "working" } | { readonly state: "underway" | "done"; readonly record: string } | { readonly state: "failed"; readonly why: string };

/** The number of polls for the outcome of an action that is still running. */
const maxPolls = 30;

function Dialog({ action }: { action: AdminAction }): ReactNode {
  const t = useTexts(texts);
  const { api, openAction, go, markDeleted } = useActions();
  const [reason, setReason] = useState("");
  const [typed, setTyped] = useState("");
  const [choice, setChoice] = useState(action.choices?.[0] ?? "");
  // A retry uses the same idempotency key, unless the hub refused the first attempt.
  const [key, setKey] = useState(newKey);
  const [outcome, setOutcome] = useState<Outcome>({ state: "asking" });
  const mounted = useRef(true);
  useEffect(() => {
    mounted.current = true;
    return () => void (mounted.current = false);
  }, []);
  const form = useId();
  const ready = isReady(action, { reason, typed }) && outcome.state !== "working";
  const runAction = async (): Promise<void> => {
    setOutcome({ state: "working" });
    try {
      const order = action.requestFor?.(choice) ?? action.request;
      let record = await api.runAction(order, reason.trim(), key);
      // Repeating the request with the same key returns the outcome of an action that takes longer.
      for (let n = 0; record?.result === "begun" && n < maxPolls && mounted.current; n++) {
        setOutcome({ state: "underway", record: record.id });
        await new Promise((done) => setTimeout(done, 1000));
        record = await api.runAction(order, reason.trim(), key);
      }
      if (action.kind === "remove") markDeleted(action.target);
      setOutcome({ state: record?.result === "begun" ? "underway" : "done", record: record?.id ?? "" });
    } catch (error) {
      if (error instanceof ProblemError) setKey(newKey());
      setOutcome({ state: "failed", why: error instanceof Error ? error.message : String(error) });
    }
  };
  const submit = (e: FormEvent): void => {
    e.preventDefault();
    if (ready) void runAction();
  };
  const over = (): void => openAction(undefined);
  return (
    <Modal title={t[action.kind]} closeLabel={t.close} onClose={over}>
      {outcome.state === "done" || outcome.state === "underway" ? (
        <div className="action-form" role="status" data-outcome={outcome.state}>
          <p>{outcome.state === "done" ? t.done : t.underway}</p>
          {outcome.record !== "" && <p className="mono">{t.record(outcome.record)}</p>}
          <div className="action-buttons">
            <Button onClick={() => go({ page: "audit", query: "" })}>{t.toAudit}</Button>
            <Button kind="primary" onClick={over} autoFocus>
              {t.close}
            </Button>
          </div>
        </div>
      ) : (
        <form className="action-form" onSubmit={submit}>
          <p>{t[`${action.kind}Means`]}</p>
          <p>
            {t.target}: <code>{action.target}</code>
          </p>
          {action.choices !== undefined && (
            <label>
              {t.to}
              <select className="field" value={choice} onChange={(e) => setChoice(e.target.value)}>
                {action.choices.map((c) => (
                  <option key={c}>{c}</option>
                ))}
              </select>
            </label>
          )}
          <label htmlFor={`${form}-reason`}>{t.reason}</label>
          <textarea id={`${form}-reason`} className="field" name="reason" rows={2} maxLength={maxReasonLength} required value={reason} onChange={(e) => setReason(e.target.value)} />
          {action.confirm !== undefined && (
            <label>
              {t.confirm(action.confirm)}
              <input className="field mono" name="confirm" autoComplete="off" spellCheck={false} required value={typed} onChange={(e) => setTyped(e.target.value)} />
            </label>
          )}
          {outcome.state === "failed" && (
            <p className="action-failed" role="alert">
              {t.failed(outcome.why)}
            </p>
          )}
          <div className="action-buttons">
            <Button onClick={over}>{t.cancelDialog}</Button>
            <Button kind={action.confirm === undefined ? "primary" : "danger"} type="submit" disabled={!ready} data-go>
              {outcome.state === "working" ? t.working : t[action.kind]}
            </Button>
          </div>
        </form>
      )}
    </Modal>
  );
}
