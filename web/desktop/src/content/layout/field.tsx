import { type KeyboardEvent, type ReactNode, useId } from "react";
import { useTexts } from "../../i18n/use.js";
import { content as texts } from "../../texts/content.js";
import type { Field as FieldOf } from "./form.js";

interface FieldProps {
  field: FieldOf;
  value: string;
  onChange: (value: string) => void;
  /** Handles keys in a field of one line. */
  onKeyDown: (e: KeyboardEvent) => void;
}

export function Field({ field: f, value, onChange, onKeyDown }: FieldProps): ReactNode {
  const t = useTexts(texts);
  const id = useId();
  const common = {
    id,
    value,
    disabled: f.disabled === true,
    className: "field",
    ...(f.label === undefined || f.label === "" ? { "aria-label": f.placeholder || f.name } : {}),
    onChange: (e: { target: { value: string } }) => onChange(e.target.value),
  };
  const control = (): ReactNode => {
    if (f.type === "select") {
      return (
        <select {...common}>
          {f.placeholder !== undefined && <option value="">{f.placeholder || t.choose}</option>}
          {f.options.map((o, i) => (
            <option key={i} value={o.value}>
              {o.label}
            </option>
          ))}
        </select>
      );
    }
    if (f.rows !== undefined && f.rows > 1) return <textarea {...common} rows={Math.min(f.rows, 40)} placeholder={f.placeholder} />;
    const type = f.variant === "number" ? "text" : (f.variant ?? "text");
    // The browser must neither fill in nor save values that an agent requests.
    return (
      <input
        {...common}
        type={type}
        inputMode={f.variant === "number" ? "decimal" : undefined}
        placeholder={f.placeholder}
        autoComplete={f.variant === "password" ? "new-password" : "off"}
        onKeyDown={onKeyDown}
      />
    );
  };
  return (
    <>
      {f.label !== undefined && f.label !== "" && (
        <label htmlFor={id} className="content-label">
          {f.label}
        </label>
      )}
      {control()}
    </>
  );
}
