import { SendHorizontal } from "lucide-react";
import { type KeyboardEvent, type ReactNode, useId, useState } from "react";
import type { OpenPrompt } from "../../../core/src/index.js";
import { useTexts } from "../i18n/use.js";
import { useCommands } from "../shell/context.js";
import { asks as texts } from "../texts/asks.js";
import { Button } from "../ui/button.js";
import { isComposing } from "../ui/keys.js";
import { usePress } from "./arming.js";
import { hasAnswer, toggleOption } from "./choice.js";
import { escapeInvisible } from "./invisible.js";
import { LaterButton } from "./later-button.js";

interface PromptFormProps {
  request: OpenPrompt;
  ready: boolean;
  onLater: (() => void) | undefined;
}

export function PromptForm({ request, ready, onLater }: PromptFormProps): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const [text, setText] = useState("");
  const enough = hasAnswer(request, chosen, text);
  const press = usePress(ready);
  const submit = usePress(ready && enough);
  const many = request.multiSelect === true;
  const options = request.options ?? [];

  const send = (answer: Parameters<typeof commands.answerPrompt>[1]): void => {
    if (commands.answerPrompt(request.id, answer) === undefined) commands.notify(t.full, "warning");
  };
  const answer = (): void => send({ ...(options.length > 0 ? { selectedValues: [...chosen] } : {}), ...(text.trim() === "" ? {} : { text }) });
  const onEnter = (e: KeyboardEvent): void => {
    if (e.key !== "Enter" || e.shiftKey || isComposing(e) || !e.nativeEvent.isTrusted) return;
    e.preventDefault();
    if (ready && enough) answer();
  };
  return (
    <>
      {options.length > 0 && <Options request={request} chosen={chosen} onChoose={(v) => setChosen(toggleOption(chosen, v, many))} onKeyDown={onEnter} />}
      {request.inputField !== undefined && <TextField field={request.inputField} text={text} onChange={setText} onKeyDown={onEnter} />}
      <div className="asks-buttons">
        <LaterButton onLater={onLater} />
        {request.allowDismiss !== false && <Button {...press(() => send({ dismissed: true }))}>{t.skip}</Button>}
        <Button kind="primary" icon={SendHorizontal} {...submit(answer)}>
          {t.submit}
        </Button>
      </div>
    </>
  );
}

interface OptionsProps {
  request: OpenPrompt;
  chosen: readonly string[];
  onChoose: (value: string) => void;
  onKeyDown: (e: KeyboardEvent) => void;
}

function Options({ request, chosen, onChoose, onKeyDown }: OptionsProps): ReactNode {
  const t = useTexts(texts);
  const group = useId();
  const many = request.multiSelect === true;
  return (
    <fieldset className="asks-options" onKeyDown={onKeyDown} data-scrolls>
      <legend>{many ? t.optionsMany : t.options}</legend>
      {request.options?.map((o) => (
        <label key={o.value} className="asks-option">
          <input type={many ? "checkbox" : "radio"} name={group} checked={chosen.includes(o.value)} onChange={() => onChoose(o.value)} />
          <span>
            {escapeInvisible(o.label)}
            {!!o.description && <small>{escapeInvisible(o.description)}</small>}
          </span>
        </label>
      ))}
    </fieldset>
  );
}

interface TextFieldProps {
  field: NonNullable<OpenPrompt["inputField"]>;
  text: string;
  onChange: (text: string) => void;
  onKeyDown: (e: KeyboardEvent) => void;
}

function TextField({ field, text, onChange, onKeyDown }: TextFieldProps): ReactNode {
  const t = useTexts(texts);
  const secret = field.type === "password";
  const props = {
    className: "field",
    value: text,
    placeholder: field.placeholder,
    autoComplete: "off",
    onChange: (e: { target: { value: string } }) => onChange(e.target.value),
    onKeyDown,
  };
  return (
    <label className="asks-field">
      <span>{field.label ? escapeInvisible(field.label) : t.yourText}</span>
      {field.type === "textarea" ? <textarea rows={4} {...props} /> : <input type={secret ? "password" : "text"} {...props} />}
      {secret && <small>{t.secret}</small>}
    </label>
  );
}
