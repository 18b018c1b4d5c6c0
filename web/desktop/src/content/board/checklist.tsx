import { Pencil, X } from "lucide-react";
import { type KeyboardEvent, type ReactNode, useLayoutEffect, useRef, useState } from "react";
import type { ChecklistComponent } from "../../../../core/src/index.js";
import { useFormat, useTexts } from "../../i18n/use.js";
import { edits as texts } from "../../texts/edits.js";
import { IconButton } from "../../ui/button.js";
import type { Edit } from "./apply.js";
import { AddField, itemKeys, TextField } from "./text-field.js";

/** A list to tick off. */
export function Checklist({ list, edit }: { list: ChecklistComponent; edit: (e: Edit) => void }): ReactNode {
  const t = useTexts(texts);
  const format = useFormat();
  const [renaming, setRenaming] = useState<string>();
  const box = useRef<HTMLUListElement>(null);
  const focus = useRef<number>(undefined);
  useLayoutEffect(() => {
    if (focus.current === undefined) return;
    const boxes = box.current?.querySelectorAll<HTMLElement>("input[type=checkbox]");
    boxes?.[Math.min(focus.current, boxes.length - 1)]?.focus();
    focus.current = undefined;
  });
  const keys = itemKeys(list.items.map((i) => i.text));
  const done = list.items.filter((i) => i.done === true).length;
  const remove = (item: number): void => {
    focus.current = item;
    edit({ op: "remove", item, was: list.items[item]!.text });
  };
  const press = (e: KeyboardEvent, item: number): void => {
    const was = list.items[item]!.text;
    const toItem = e.altKey ? { ArrowUp: item - 1, ArrowDown: item + 1 }[e.key] : undefined;
    if (toItem !== undefined && toItem >= 0 && toItem < list.items.length) {
      focus.current = toItem;
      edit({ op: "move", item, was, toItem });
    } else if (e.key === "F2") setRenaming(keys[item]);
    else if (e.key === "Delete") remove(item);
    else if (toItem === undefined) return;
    e.preventDefault();
    e.stopPropagation();
  };
  return (
    <section className="checklist" aria-label={list.label || t.checklist}>
      <header className="checklist-head">
        {list.label !== undefined && list.label !== "" && <h4>{list.label}</h4>}
        <span>{t.progress(format.number(done), format.number(list.items.length))}</span>
      </header>
      <div className="checklist-bar" aria-hidden>
        <span style={{ width: `${list.items.length === 0 ? 0 : (100 * done) / list.items.length}%` }} />
      </div>
      {list.items.length === 0 && <p className="content-empty">{t.empty}</p>}
      <ul ref={box}>
        {list.items.map((i, item) => (
          <li key={keys[item]} className="checklist-item" data-done={i.done === true}>
            {renaming === keys[item] ? (
              <TextField
                label={t.newText}
                text={i.text}
                onDone={(text) => {
                  setRenaming(undefined);
                  focus.current = item;
                  if (text !== undefined) edit({ op: "rename", item, was: i.text, text });
                }}
              />
            ) : (
              <>
                <label title={t.itemKeys}>
                  <input type="checkbox" checked={i.done === true} onKeyDown={(e) => press(e, item)} onChange={(e) => edit({ op: "check", item, was: i.text, done: e.target.checked })} />
                  <span>{i.text}</span>
                </label>
                <IconButton icon={Pencil} size={13} label={t.renameOf(i.text)} onClick={() => setRenaming(keys[item])} />
                <IconButton icon={X} size={14} label={t.removeOf(i.text)} onClick={() => remove(item)} />
              </>
            )}
          </li>
        ))}
      </ul>
      <AddField label={t.addItem} placeholder={t.addItem} onAdd={(text) => edit({ op: "add", item: list.items.length, text })} />
    </section>
  );
}
