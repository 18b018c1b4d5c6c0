import { type KeyboardEvent, lazy, type ReactNode, useMemo, useState } from "react";
import type { ButtonComponent, Component, Layout, WindowState } from "../../../../core/src/index.js";
import { useTexts } from "../../i18n/use.js";
import { useCommands } from "../../shell/context.js";
import { content as texts } from "../../texts/content.js";
import { isComposing } from "../../ui/keys.js";
import { ActionButton } from "./action-button.js";
import { Badge, Picture, Progress, TextView } from "./components.js";
import { Field } from "./field.js";
import { columnsOf, type EnteredValues, fieldKey, formData, isField, retainValues, shownValue, submitButton } from "./form.js";

// Few windows have them.
const Checklist = lazy(() => import("../board/index.js").then((m) => ({ default: m.ChecklistView })));
const Kanban = lazy(() => import("../board/index.js").then((m) => ({ default: m.KanbanView })));

/** How long a button ignores clicks after one, so that a double click counts once, in ms. */
const cooldown = 800;

/** A grid of controls that an agent created. Entered values stay in this tab until a button sends them. */
export function LayoutView({ window: w, layout }: { window: WindowState; layout: Layout }): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const [typed, setTyped] = useState<EnteredValues>(() => new Map());
  const [presses, setPresses] = useState<ReadonlyMap<string, { at: number; id: string | undefined }>>(() => new Map());
  const values = useMemo(() => retainValues(typed, layout), [typed, layout]);

  const press = (b: ButtonComponent): void => {
    const key = pressKey(b);
    const now = Date.now();
    if (b.disabled === true || now - (presses.get(key)?.at ?? 0) < cooldown) return;
    const id = commands.sendComponentAction(w, {
      action: b.action,
      componentPath: [`Button:${b.label}`],
      ...(b.parallel === false ? {} : { actionId: `action-${now}-${Math.random().toString(36).slice(2, 7)}` }),
      ...(b.submitForm === undefined ? {} : { formId: b.submitForm, formData: formData(layout, values, b.submitForm) }),
    });
    if (id === undefined) commands.notify(t.notSent, "warning");
    // Removed buttons need no record.
    const there = new Set(layout.components.filter((c) => c.type === "button").map(pressKey));
    setPresses(new Map([...presses].filter(([k]) => there.has(k))).set(key, { at: now, id }));
  };
  const enter = (e: KeyboardEvent, formId: string | undefined): void => {
    if (e.key !== "Enter" || isComposing(e)) return;
    const button = submitButton(layout, formId);
    if (button === undefined) return;
    e.preventDefault();
    press(button);
  };

  const draw = (c: Component, index: number): ReactNode => {
    if (isField(c)) {
      const change = (value: string): void => setTyped(new Map(values).set(fieldKey(c), value));
      return <Field field={c} value={shownValue(c, values)} onChange={change} onKeyDown={(e) => enter(e, c.formId)} />;
    }
    switch (c.type) {
      case "button":
        return <ActionButton button={c} sent={presses.get(pressKey(c))?.id} onPress={() => press(c)} />;
      case "text":
        return <TextView text={c} />;
      case "badge":
        return <Badge badge={c} />;
      case "progress":
        return <Progress progress={c} />;
      case "image":
        return <Picture image={c} />;
      case "checklist":
        return <Checklist window={w} layout={layout} component={index} />;
      case "kanban":
        return <Kanban window={w} layout={layout} component={index} />;
    }
  };
  return (
    <div className="content-scroll" tabIndex={0} role="group" aria-label={w.title}>
      <div className={`content-layout content-gap-${layout.gap ?? "md"}`} style={{ gridTemplateColumns: columnsOf(layout.cols) }}>
        {withKeys(layout.components).map(([key, c], index) => (
          <div key={key} className={`content-cell content-cell-${c.type}`}>
            {draw(c, index)}
          </div>
        ))}
      </div>
    </div>
  );
}

function pressKey(b: ButtonComponent): string {
  return JSON.stringify([b.action, b.label, b.submitForm ?? ""]);
}

/** Components with keys that stay the same in the next layout, so that fields keep the caret when they move. */
function withKeys(components: readonly Component[]): [string, Component][] {
  const seen = new Map<string, number>();
  return components.map((c) => {
    const name = isField(c) ? `${c.type} ${fieldKey(c)}` : c.type === "button" ? `button ${pressKey(c)}` : c.type;
    const count = seen.get(name) ?? 0;
    seen.set(name, count + 1);
    return [`${name} ${count}`, c];
  });
}
