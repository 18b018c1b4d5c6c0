// The values of the fields of a layout. An entered value is kept as long as a field of its name exists. Pure.

import type { ButtonComponent, Component, InputComponent, Layout, Scalar, SelectComponent } from "../../../../core/src/index.js";

export type Field = ({ type: "input" } & InputComponent) | ({ type: "select" } & SelectComponent);

/** The entered values, by `fieldKey`. */
export type EnteredValues = ReadonlyMap<string, string>;

export function isField(c: Component): c is Field {
  return c.type === "input" || c.type === "select";
}

/** The key of a field: several forms may have fields of the same name. */
export function fieldKey(f: Pick<Field, "name" | "formId">): string {
  return JSON.stringify([f.formId ?? "", f.name]);
}

/** The value that a field shows. */
export function shownValue(f: Field, typed: EnteredValues): string {
  const value = typed.get(fieldKey(f)) ?? f.defaultValue;
  if (f.type === "input") return value ?? "";
  const known = value !== undefined && f.options.some((o) => o.value === value);
  if (known) return value;
  return f.placeholder === undefined ? (f.options[0]?.value ?? "") : "";
}

/** The entered values whose fields still exist. Returns the same object if nothing changes. */
export function retainValues(typed: EnteredValues, layout: Layout): EnteredValues {
  const keys = new Set(layout.components.filter(isField).map(fieldKey));
  const left = [...typed].filter(([key]) => keys.has(key));
  return left.length === typed.size ? typed : new Map(left);
}

/** The values that a form sends: numbers as numbers, everything else as text. */
export function formData(layout: Layout, typed: EnteredValues, formId: string): Record<string, Scalar> {
  const fields = layout.components.filter(isField).filter((f) => f.formId === formId);
  return Object.fromEntries(fields.map((f) => [f.name, scalarOf(f, shownValue(f, typed))]));
}

function scalarOf(f: Field, value: string): Scalar {
  if (f.type !== "input" || f.variant !== "number" || value.trim() === "") return value;
  const n = Number(value);
  return Number.isFinite(n) ? n : value;
}

/** The button that Enter in a field of a form triggers: the primary one, else the first. */
export function submitButton(layout: Layout, formId: string | undefined): ButtonComponent | undefined {
  if (formId === undefined) return undefined;
  const buttons = layout.components.filter((c) => c.type === "button").filter((b) => b.submitForm === formId && b.disabled !== true);
  return buttons.find((b) => b.variant === "primary") ?? buttons[0];
}

/** The CSS columns of a layout, at most 12. */
export function columnsOf(cols: Layout["cols"]): string {
  if (typeof cols === "number") return `repeat(${Math.max(1, Math.min(Math.floor(cols) || 1, 12))}, minmax(0, 1fr))`;
  const parts = (cols ?? []).slice(0, 12).map((c) => `minmax(0, ${Number.isFinite(c) && c > 0 ? Math.min(c, 100) : 1}fr)`);
  return parts.length === 0 ? "minmax(0, 1fr)" : parts.join(" ");
}

/** The CSS length of a picture; undefined if the value is invalid. */
export function lengthOf(size: number | string | undefined): string | undefined {
  if (typeof size === "number") return size > 0 ? `${Math.min(size, 4000)}px` : undefined;
  return size !== undefined && /^\d{1,4}(?:\.\d+)?(?:px|%|em|rem)$/.test(size) ? size : /^\d{1,4}$/.test(size ?? "") ? `${size}px` : undefined;
}
