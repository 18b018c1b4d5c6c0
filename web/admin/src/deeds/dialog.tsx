import { type FormEvent, type ReactNode, useEffect, useId, useRef, useState } from "react";
import { Button } from "../../../desktop/src/ui/button.js";
import { Modal } from "../../../desktop/src/ui/modal.js";
import { newKey, Refusal } from "../api/api.js";
import { useTexts } from "../i18n/use.js";
import { useActions, usePage } from "../state/use.js";
import { actions as texts } from "../texts.js";
import { type Deed, isReady, longestReason } from "./deed.js";

/** Asks for what a deed wants, does it, and says what came of it. */
export function DeedDialog(): ReactNode {
  const deed = usePage((s) => s.deed);
  return deed === undefined ? null : <Dialog key={`${deed.kind} ${deed.target}`} deed={deed} />;
}

type Outcome = { readonly state: "asking" | "working" } | { readonly state: "underway" | "done"; readonly record: string } | { readonly state: "failed"; readonly why: string };

/** How often it is asked how something ended that takes its time. */
const mostAsked = 30;

function Dialog({ deed }: { deed: Deed }): ReactNode {
  const t = useTexts(texts);
  const { api, begin, go, lose } = useActions();
  const [reason, setReason] = useState("");
  const [typed, setTyped] = useState("");
  const [choice, setChoice] = useState(deed.choices?.[0] ?? "");
  // To the hub a second try is the same deed, unless it has refused the first.
  const [key, setKey] = useState(newKey);
  const [outcome, setOutcome] = useState<Outcome>({ state: "asking" });
  const mounted = useRef(true);
  useEffect(() => {
    mounted.current = true;
    return () => void (mounted.current = false);
  }, []);
  const form = useId();
  const ready = isReady(deed, { reason, typed }) && outcome.state !== "working";
  const carryOut = async (): Promise<void> => {
    setOutcome({ state: "working" });
    try {
      const order = deed.orderFor?.(choice) ?? deed.order;
      let record = await api.order(order, reason.trim(), key);
      // What takes its time is asked for again: with the same key the answer is how it ended.
      for (let n = 0; record?.result === "begun" && n < mostAsked && mounted.current; n++) {
        setOutcome({ state: "underway", record: record.id });
        await new Promise((done) => setTimeout(done, 1000));
        record = await api.order(order, reason.trim(), key);
      }
      if (deed.kind === "remove") lose(deed.target);
      setOutcome({ state: record?.result === "begun" ? "underway" : "done", record: record?.id ?? "" });
    } catch (error) {
      if (error instanceof Refusal) setKey(newKey());
      setOutcome({ state: "failed", why: error instanceof Error ? error.message : String(error) });
    }
  };
  const submit = (e: FormEvent): void => {
    e.preventDefault();
    if (ready) void carryOut();
  };
  const over = (): void => begin(undefined);
  return (
    <Modal title={t[deed.kind]} closeLabel={t.close} onClose={over}>
      {outcome.state === "done" || outcome.state === "underway" ? (
        <div className="deed-form" role="status" data-outcome={outcome.state}>
          <p>{outcome.state === "done" ? t.done : t.underway}</p>
          {outcome.record !== "" && <p className="mono">{t.record(outcome.record)}</p>}
          <div className="deed-buttons">
            <Button onClick={() => go({ page: "audit", query: "" })}>{t.toAudit}</Button>
            <Button kind="primary" onClick={over} autoFocus>
              {t.close}
            </Button>
          </div>
        </div>
      ) : (
        <form className="deed-form" onSubmit={submit}>
          <p>{t[`${deed.kind}Means`]}</p>
          <p>
            {t.target}: <code>{deed.target}</code>
          </p>
          {deed.choices !== undefined && (
            <label>
              {t.to}
              <select className="field" value={choice} onChange={(e) => setChoice(e.target.value)}>
                {deed.choices.map((c) => (
                  <option key={c}>{c}</option>
                ))}
              </select>
            </label>
          )}
          <label htmlFor={`${form}-reason`}>{t.reason}</label>
          <textarea id={`${form}-reason`} className="field" name="reason" rows={2} maxLength={longestReason} required value={reason} onChange={(e) => setReason(e.target.value)} />
          {deed.confirm !== undefined && (
            <label>
              {t.confirm(deed.confirm)}
              <input className="field mono" name="confirm" autoComplete="off" spellCheck={false} required value={typed} onChange={(e) => setTyped(e.target.value)} />
            </label>
          )}
          {outcome.state === "failed" && (
            <p className="deed-failed" role="alert">
              {t.failed(outcome.why)}
            </p>
          )}
          <div className="deed-buttons">
            <Button onClick={over}>{t.cancelDialog}</Button>
            <Button kind={deed.confirm === undefined ? "primary" : "danger"} type="submit" disabled={!ready} data-go>
              {outcome.state === "working" ? t.working : t[deed.kind]}
            </Button>
          </div>
        </form>
      )}
    </Modal>
  );
}
