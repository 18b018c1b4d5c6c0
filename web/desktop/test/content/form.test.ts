import { expect, test } from "vitest";
import type { Layout } from "../../../core/src/index.js";
import { columnsOf, fieldKey, formData, lengthOf, retainValues, shownValue, submitButton } from "../../src/content/layout/form.js";

const layout: Layout = {
  components: [
    { type: "input", name: "who", formId: "f", defaultValue: "Ada" },
    { type: "input", name: "age", formId: "f", variant: "number" },
    { type: "select", name: "size", formId: "f", options: [{ value: "s", label: "S" }, { value: "m", label: "M" }] },
    { type: "select", name: "hue", formId: "f", placeholder: "Pick", options: [{ value: "r", label: "Red" }] },
    { type: "input", name: "__proto__", formId: "f" },
    { type: "input", name: "who", formId: "g" },
    { type: "button", label: "Later", action: "later", submitForm: "f" },
    { type: "button", label: "Save", action: "save", submitForm: "f", variant: "primary" },
  ],
};
const who = fieldKey({ name: "who", formId: "f" });
const age = fieldKey({ name: "age", formId: "f" });

test("a form sends its own fields, numbers as numbers", () => {
  const typed = new Map([[who, "Grace"], [age, "42"]]);
  const data = formData(layout, typed, "f");
  expect(Object.entries(data)).toEqual([["who", "Grace"], ["age", 42], ["size", "s"], ["hue", ""], ["__proto__", ""]]);
  expect(formData(layout, typed, "g")).toEqual({ who: "" });
  expect(formData(layout, new Map([[age, ""]]), "f").age).toBe("");
  expect(formData(layout, new Map([[age, "a lot"]]), "f").age).toBe("a lot");
});

test("an entered value is kept while its field exists", () => {
  const typed = new Map([[who, "Grace"], [age, "42"]]);
  expect(retainValues(typed, layout)).toBe(typed);
  const next: Layout = { components: [{ type: "input", name: "who", formId: "f", defaultValue: "Bob" }] };
  const left = retainValues(typed, next);
  expect([...left]).toEqual([[who, "Grace"]]);
  expect(shownValue({ type: "input", name: "who", formId: "f", defaultValue: "Bob" }, left)).toBe("Grace");
});

test("a removed choice is not shown", () => {
  const select = { type: "select", name: "size", options: [{ value: "s", label: "S" }] } as const;
  const typed = new Map([[fieldKey(select), "xl"]]);
  expect(shownValue({ ...select, options: [...select.options] }, typed)).toBe("s");
  expect(shownValue({ ...select, options: [...select.options], placeholder: "Pick" }, typed)).toBe("");
});

test("Enter triggers the primary button of the form", () => {
  expect(submitButton(layout, "f")?.label).toBe("Save");
  expect(submitButton(layout, "g")).toBeUndefined();
  expect(submitButton(layout, undefined)).toBeUndefined();
});

test("columns and lengths are bounded", () => {
  expect(columnsOf(undefined)).toBe("minmax(0, 1fr)");
  expect(columnsOf(2)).toBe("repeat(2, minmax(0, 1fr))");
  expect(columnsOf(1e9)).toBe("repeat(12, minmax(0, 1fr))");
  expect(columnsOf(-1)).toBe("repeat(1, minmax(0, 1fr))");
  expect(columnsOf([1, 2])).toBe("minmax(0, 1fr) minmax(0, 2fr)");
  expect(columnsOf([NaN, -1])).toBe("minmax(0, 1fr) minmax(0, 1fr)");
  expect(lengthOf(20)).toBe("20px");
  expect(lengthOf("50%")).toBe("50%");
  expect(lengthOf("120")).toBe("120px");
  expect(lengthOf("calc(1px)")).toBeUndefined();
  expect(lengthOf("url(x)")).toBeUndefined();
  expect(lengthOf(-5)).toBeUndefined();
});
