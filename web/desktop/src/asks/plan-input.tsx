import { Check, SendHorizontal, X } from "lucide-react";
import { type KeyboardEvent, type ReactNode, useId, useState } from "react";
import { useFormat, useTexts } from "../i18n/use.js";
import { useCommands } from "../shell/context.js";
import { asks as texts } from "../texts/asks.js";
import { Button } from "../ui/button.js";
import { isComposing } from "../ui/keys.js";
import { usePress } from "./arming.js";
import { toggleOption } from "./choice.js";
import { escapeInvisible } from "./invisible.js";
import { LaterButton } from "./later-button.js";
import type { PlanFormProps } from "./plan.js";
import { type Entry, initialEntry, type Problem, parseEntry, type ValueRequest } from "./value.js";

/** The form of a question that requires a value. */
export function InputForm({ request, ready, onLater, refused }: PlanFormProps<ValueRequest>): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const [entry, setEntry] = useState(() => initialEntry(request));
  /** The error found when the user tried to send the value. */
  const [problem, setProblem] = useState<Problem>();
  const press = usePress(ready);
  const problems = useProblems(request);
  const wrong = problem !== undefined ? problems[problem] : refused?.code === 5002 ? refused.reason : "";

  const send = (value: unknown): void => {
    const { request_id } = request;
    const sent =
      request.type === "hitl_input_request"
        ? commands.send("hitl_input_response", { request_id, field: request.field, value })
        : commands.send("hitl_clarification_response", { request_id, value });
    if (sent === undefined) commands.notify(t.full, "warning");
  };
  const change = (part: Partial<Entry>): void => {
    setProblem(undefined);
    setEntry((e) => ({ ...e, ...part }));
  };
  const submit = (): void => {
    const answer = parseEntry(request, entry);
    if ("problem" in answer) setProblem(answer.problem);
    else send(answer.value);
  };
  const onEnter = (e: KeyboardEvent): void => {
    if (e.key !== "Enter" || e.shiftKey || isComposing(e) || !e.nativeEvent.isTrusted) return;
    e.preventDefault();
    if (ready) submit();
  };
  return (
    <>
      {request.type === "hitl_clarification" && <Clarification request={request} onChoose={(text) => change({ text })} />}
      <Fields request={request} entry={entry} wrong={wrong} onChange={change} onKeyDown={onEnter} />
      <div className="asks-buttons">
        <LaterButton onLater={onLater} />
        {!request.required && <Button {...press(() => send(null))}>{t.skip}</Button>}
        {request.input_type === "confirm" ? (
          <>
            <Button icon={X} {...press(() => send(false))}>
              {t.no}
            </Button>
            <Button kind="primary" icon={Check} {...press(() => send(true))}>
              {t.yes}
            </Button>
          </>
        ) : (
          <Button kind="primary" icon={SendHorizontal} {...press(submit)}>
            {t.submit}
          </Button>
        )}
      </div>
    </>
  );
}

/** The original input, why it is ambiguous, and suggestions. */
function Clarification({ request, onChoose }: { request: Extract<ValueRequest, { type: "hitl_clarification" }>; onChoose: (text: string) => void }): ReactNode {
  const t = useTexts(texts);
  const suggestions = request.suggestions ?? [];
  return (
    <>
      <dl className="asks-facts">
        <dt>{t.youSaid}</dt>
        <dd>{escapeInvisible(request.original_input)}</dd>
      </dl>
      {!!request.ambiguity && <p className="asks-state">{escapeInvisible(request.ambiguity)}</p>}
      {suggestions.length > 0 && (
        <div className="asks-chips" role="group" aria-label={t.suggestions}>
          {suggestions.map((s) => (
            <Button key={s} size="sm" onClick={() => onChoose(s)}>
              {escapeInvisible(s)}
            </Button>
          ))}
        </div>
      )}
    </>
  );
}

interface FieldsProps {
  request: ValueRequest;
  entry: Entry;
  /** The error to show; empty for none. */
  wrong: string;
  onChange: (part: Partial<Entry>) => void;
  onKeyDown: (e: KeyboardEvent) => void;
}

function Fields({ request, entry, wrong, onChange, onKeyDown }: FieldsProps): ReactNode {
  const t = useTexts(texts);
  const id = useId();
  const hint = useHint(request);
  const about = { "aria-describedby": `${id}-about`, "aria-invalid": wrong !== "", onKeyDown };
  const typed = { ...about, className: "field", value: entry.text, autoComplete: "off", "data-first": true };
  const type = request.input_type;
  const range = request.type === "hitl_input_request" && request.range === true;
  return (
    <>
      {(type === "choice" || type === "multi") && <Options request={request} entry={entry} onChange={onChange} about={about} />}
      {type === "text" && (
        <label className="asks-field">
          <span>{t.yourText}</span>
          <textarea rows={2} {...typed} onChange={(e) => onChange({ text: e.target.value })} />
        </label>
      )}
      {type === "number" && (
        <label className="asks-field">
          <span>{t.yourText}</span>
          <input type="text" inputMode="decimal" {...typed} onChange={(e) => onChange({ text: e.target.value })} />
        </label>
      )}
      {type === "date" && (
        <div className="asks-dates">
          <label className="asks-field">
            <span>{range ? t.begin : t.yourText}</span>
            <input type="date" {...typed} onChange={(e) => onChange({ text: e.target.value })} />
          </label>
          {range && (
            <label className="asks-field">
              <span>{t.end}</span>
              <input type="date" {...about} className="field" value={entry.end} min={entry.text} onChange={(e) => onChange({ end: e.target.value })} />
            </label>
          )}
        </div>
      )}
      <small id={`${id}-about`} className={wrong === "" ? "asks-state" : "asks-problem"} role={wrong === "" ? undefined : "alert"}>
        {wrong || hint}
      </small>
    </>
  );
}

interface OptionsProps {
  request: ValueRequest;
  entry: Entry;
  onChange: (part: Partial<Entry>) => void;
  about: { "aria-describedby": string; onKeyDown: (e: KeyboardEvent) => void };
}

function Options({ request, entry, onChange, about }: OptionsProps): ReactNode {
  const t = useTexts(texts);
  const group = useId();
  const many = request.input_type === "multi";
  // A clarification has suggestions instead of options.
  const options = request.type === "hitl_input_request" ? (request.options ?? []) : (request.suggestions ?? []).map((s) => ({ value: s, label: s }));
  return (
    <fieldset className="asks-options" {...about} data-scrolls>
      <legend>{many ? t.optionsMany : t.options}</legend>
      {options.map((o, i) => (
        <label key={o.value} className="asks-option">
          <input
            type={many ? "checkbox" : "radio"}
            name={group}
            checked={entry.chosen.includes(o.value)}
            data-first={i === 0 ? true : undefined}
            onChange={() => onChange({ chosen: toggleOption(entry.chosen, o.value, many) })}
          />
          <span>{escapeInvisible(o.label)}</span>
        </label>
      ))}
    </fieldset>
  );
}

/** The bounds of the value, and whether it is optional. */
function useHint(request: ValueRequest): string {
  const t = useTexts(texts);
  const format = useFormat();
  const { min, max } = request.type === "hitl_input_request" ? request : {};
  const bounds =
    min !== undefined && max !== undefined
      ? t.bounds(format.number(min), format.number(max))
      : min !== undefined
        ? t.atLeast(format.number(min))
        : max !== undefined
          ? t.atMost(format.number(max))
          : "";
  return [bounds, request.required ? "" : t.optional].filter(Boolean).join(" · ");
}

function useProblems(request: ValueRequest): Record<Problem, string> {
  const t = useTexts(texts);
  const format = useFormat();
  const { min = 0, max = 0 } = request.type === "hitl_input_request" ? request : {};
  return { empty: t.needed, notNumber: t.notNumber, notDate: t.notDate, backwards: t.backwards, low: t.low(format.number(min)), high: t.high(format.number(max)) };
}
