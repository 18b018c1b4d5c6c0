import { ArrowRight, MoreHorizontal, Pencil, Trash2 } from "lucide-react";
import { type KeyboardEvent, type PointerEvent, type ReactNode, useLayoutEffect, useRef, useState } from "react";
import type { KanbanCard, KanbanComponent } from "../../../../core/src/index.js";
import { useFormat, useTexts } from "../../i18n/use.js";
import { edits as texts } from "../../texts/edits.js";
import { IconButton } from "../../ui/button.js";
import { Menu, MenuItem } from "../../ui/menu.js";
import type { Edit } from "./apply.js";
import { columnAt, itemAt, neighbour, type Place, steppedPlace } from "./drag.js";
import { AddField, itemKeys, TextField } from "./text-field.js";

/** How far the pointer moves before a card follows it, in px. */
const slack = 5;

interface Drag {
  readonly from: Place;
  readonly start: { x: number; y: number };
  readonly by: { x: number; y: number };
  /** Where the card lands; undefined until it moves. */
  readonly over: Place | undefined;
}

/** A board whose cards move with the pointer, the keyboard and a menu. */
export function Kanban({ board, edit }: { board: KanbanComponent; edit: (e: Edit) => void }): ReactNode {
  const t = useTexts(texts);
  const format = useFormat();
  const box = useRef<HTMLDivElement>(null);
  const [drag, setDrag] = useState<Drag>();
  const [renaming, setRenaming] = useState<string>();
  const [said, setSaid] = useState("");
  // The card that gets the focus once it is at its place, which may take more than one render.
  const focus = useRef<Place & { text?: string }>(undefined);
  useLayoutEffect(() => {
    const at = focus.current;
    const card = at && cardsOf(box.current, at.column)[at.item];
    if (card === undefined || (at?.text !== undefined && card.dataset.card !== at.text)) return;
    focus.current = undefined;
    card.focus();
  });
  const counts = board.columns.map((c) => c.cards.length);
  const title = (column: number): string => board.columns[column]!.title.trim() || t.untitled;
  const cardAt = (p: Place): KanbanCard => board.columns[p.column]!.cards[p.item]!;
  const move = (from: Place, to: Place): void => {
    const { text } = cardAt(from);
    edit({ op: "move", column: from.column, item: from.item, was: text, toColumn: to.column, toItem: to.item });
    focus.current = { ...to, text };
    setSaid(t.movedTo(text, title(to.column)));
  };
  const remove = (at: Place): void => {
    focus.current = { ...at, item: Math.max(0, at.item - 1) };
    edit({ op: "remove", column: at.column, item: at.item, was: cardAt(at).text });
  };
  const press = (e: KeyboardEvent, at: Place, key: string): void => {
    if (e.target !== e.currentTarget || e.ctrlKey || e.metaKey || e.altKey) return;
    if (e.key.startsWith("Arrow")) {
      const to = (e.shiftKey ? steppedPlace : neighbour)(counts, at, e.key);
      if (to !== undefined && e.shiftKey) move(at, to);
      else if (to !== undefined) cardsOf(box.current, to.column)[to.item]?.focus();
    } else if (e.key === "F2" || e.key === "Enter") setRenaming(key);
    else if (e.key === "Delete") remove(at);
    else return;
    e.preventDefault();
    e.stopPropagation();
  };
  const grab = (e: PointerEvent, from: Place): void => {
    if (e.button !== 0 || (e.target as Element).closest("button, input, .menu") !== null) return;
    e.currentTarget.setPointerCapture(e.pointerId);
    setDrag({ from, start: { x: e.clientX, y: e.clientY }, by: { x: 0, y: 0 }, over: undefined });
  };
  const follow = (e: PointerEvent): void => {
    if (drag === undefined) return;
    const by = { x: e.clientX - drag.start.x, y: e.clientY - drag.start.y };
    if (drag.over === undefined && Math.hypot(by.x, by.y) < slack) return;
    setDrag({ ...drag, by, over: placeAt(box.current!, drag.from, e.clientX, e.clientY) });
  };
  const drop = (): void => {
    setDrag(undefined);
    const to = drag?.over;
    if (to !== undefined && (to.column !== drag!.from.column || to.item !== drag!.from.item)) move(drag!.from, to);
  };

  return (
    <section className="kanban-box" aria-label={board.label || t.board}>
      {board.label !== undefined && board.label !== "" && <h4>{board.label}</h4>}
      <div ref={box} className="kanban">
        {board.columns.map((c, column) => {
          const keys = itemKeys(c.cards.map((k) => k.text));
          const mark = drag?.over?.column === column ? drag.over.item + (drag.from.column === column && drag.over.item >= drag.from.item ? 1 : 0) : -1;
          return (
            <section key={column} className="kanban-column" data-over={mark >= 0} aria-label={t.columnOf(title(column), format.number(c.cards.length))}>
              <header>
                <h5>{title(column)}</h5>
                <span>{format.number(c.cards.length)}</span>
              </header>
              <ul>
                {c.cards.map((card, item) => {
                  const at = { column, item };
                  const key = `${column} ${keys[item]}`;
                  const held = drag?.over !== undefined && drag.from.column === column && drag.from.item === item;
                  return (
                    <li
                      key={keys[item]}
                      className="kanban-card"
                      tabIndex={0}
                      title={t.cardKeys}
                      data-card={card.text}
                      data-held={held}
                      data-mark={mark === item ? "above" : mark === item + 1 && item + 1 === c.cards.length ? "below" : undefined}
                      style={held ? { transform: `translate(${drag.by.x}px, ${drag.by.y}px)` } : undefined}
                      onKeyDown={(e) => press(e, at, key)}
                      onPointerDown={(e) => grab(e, at)}
                      onPointerMove={follow}
                      onPointerUp={drop}
                      onPointerCancel={() => setDrag(undefined)}
                      onDoubleClick={() => setRenaming(key)}
                    >
                      {renaming === key ? (
                        <TextField
                          label={t.newText}
                          text={card.text}
                          onDone={(text) => {
                            setRenaming(undefined);
                            focus.current = at;
                            if (text !== undefined) edit({ op: "rename", ...at, was: card.text, text });
                          }}
                        />
                      ) : (
                        <span className="kanban-text">
                          {card.text}
                          {card.note !== undefined && card.note !== "" && <small>{card.note}</small>}
                        </span>
                      )}
                      <Menu label={t.cardMenu(card.text)} align="end" trigger={(p) => <IconButton icon={MoreHorizontal} size={14} label={t.cardMenu(card.text)} {...p} />}>
                        {(close) => {
                          const pick = (act: () => void) => (): void => {
                            close();
                            act();
                          };
                          return (
                            <>
                              {board.columns.map((_, to) => to !== column && (
                                <MenuItem key={to} icon={<ArrowRight size={14} aria-hidden />} onSelect={pick(() => move(at, { column: to, item: counts[to]! }))}>
                                  {t.moveTo(title(to))}
                                </MenuItem>
                              ))}
                              <MenuItem icon={<Pencil size={14} aria-hidden />} onSelect={pick(() => setRenaming(key))}>
                                {t.rename}
                              </MenuItem>
                              <MenuItem icon={<Trash2 size={14} aria-hidden />} danger onSelect={pick(() => remove(at))}>
                                {t.remove}
                              </MenuItem>
                            </>
                          );
                        }}
                      </Menu>
                    </li>
                  );
                })}
              </ul>
              <AddField label={t.addCardTo(title(column))} placeholder={t.addCard} onAdd={(text) => edit({ op: "add", column, item: c.cards.length, text })} />
            </section>
          );
        })}
      </div>
      <p className="hidden-text" aria-live="polite">
        {said}
      </p>
    </section>
  );
}

function cardsOf(box: Element | null, column: number): HTMLElement[] {
  return [...(box?.children[column]?.querySelectorAll<HTMLElement>(".kanban-card") ?? [])];
}

/** The place of a dragged card under the pointer, counted without the card. */
function placeAt(box: Element, from: Place, x: number, y: number): Place | undefined {
  const column = columnAt([...box.children].map((c) => c.getBoundingClientRect()), x);
  if (column < 0) return undefined;
  const others = cardsOf(box, column).filter((_, i) => column !== from.column || i !== from.item);
  return { column, item: itemAt(others.map((c) => c.getBoundingClientRect()), y) };
}
