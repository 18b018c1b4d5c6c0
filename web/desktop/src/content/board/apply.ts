// What a user's edit makes of a content, as the hub does it: the page shows the result until the hub has answered. Pure.

import type { ChecklistComponent, Component, Content, KanbanCard, KanbanComponent, TableContent, WindowEdit } from "../../../../core/src/index.js";

/** An edit without its window. */
export type Edit = Omit<WindowEdit, "windowId" | "agentId" | "requestId">;

const most = { items: 500, cards: 300, text: 1000 } as const;

/** The content after an edit; undefined if the hub would reject it. */
export function applyEdit(content: Content, e: Edit): Content | undefined {
  switch (content.renderer) {
    case "markdown":
    case "text":
      return e.op === "text" && content.data === (e.was ?? "") ? { ...content, data: e.text ?? "" } : undefined;
    case "table": {
      const data = inTable(content.data, e);
      return data && { ...content, data };
    }
    case "component": {
      const at = e.component ?? 0;
      const after = inComponent(content.data.components[at], e);
      return after && { ...content, data: { ...content.data, components: content.data.components.with(at, after) } };
    }
    default:
      return undefined;
  }
}

function inComponent(c: Component | undefined, e: Edit): Component | undefined {
  if (c?.type === "checklist") return inChecklist(c, e);
  return c?.type === "kanban" ? inKanban(c, e) : undefined;
}

/** The new text of an item or a card; undefined if it is empty or too long. */
export function itemText(text = ""): string | undefined {
  const trimmed = text.trim();
  return trimmed !== "" && [...trimmed].length <= most.text ? trimmed : undefined;
}

/** The index of the item with a text: at if it is there, otherwise the only other place; -1 if there is none. */
function locate<T>(items: readonly T[], at: number, was: string, textOf: (item: T) => string): number {
  if (items[at] !== undefined && textOf(items[at]) === was) return at;
  const first = items.findIndex((i) => textOf(i) === was);
  return first === items.findLastIndex((i) => textOf(i) === was) ? first : -1;
}

function inserted<T>(items: readonly T[], at: number, item: T): T[] {
  return items.toSpliced(Math.min(at, items.length), 0, item);
}

function inChecklist(c: { type: "checklist" } & ChecklistComponent, e: Edit): typeof c | undefined {
  const text = itemText(e.text);
  if (e.op === "add") return text === undefined || c.items.length >= most.items ? undefined : { ...c, items: inserted(c.items, e.item ?? 0, { text }) };
  const at = locate(c.items, e.item ?? 0, e.was ?? "", (i) => i.text);
  if (at < 0) return undefined;
  const item = c.items[at]!;
  const rest = c.items.toSpliced(at, 1);
  switch (e.op) {
    case "check":
      return { ...c, items: c.items.with(at, e.done === true ? { ...item, done: true } : { text: item.text }) };
    case "rename":
      return text === undefined ? undefined : { ...c, items: c.items.with(at, { ...item, text }) };
    case "remove":
      return { ...c, items: rest };
    case "move":
      return { ...c, items: inserted(rest, e.toItem ?? 0, item) };
    default:
      return undefined;
  }
}

function inKanban(c: { type: "kanban" } & KanbanComponent, e: Edit): typeof c | undefined {
  const text = itemText(e.text);
  const put = (columns: KanbanComponent["columns"], column: number, at: number, card: KanbanCard): typeof c | undefined => {
    const to = columns[column];
    return to === undefined || to.cards.length >= most.cards ? undefined : { ...c, columns: columns.with(column, { ...to, cards: inserted(to.cards, at, card) }) };
  };
  if (e.op === "add") return text === undefined ? undefined : put(c.columns, e.column ?? 0, e.item ?? 0, { text });
  const place = locateCard(c, e);
  if (place === undefined) return undefined;
  const { column, at } = place;
  const from = c.columns[column]!;
  const card = from.cards[at]!;
  const without = c.columns.with(column, { ...from, cards: from.cards.toSpliced(at, 1) });
  switch (e.op) {
    case "rename":
      return text === undefined ? undefined : { ...c, columns: c.columns.with(column, { ...from, cards: from.cards.with(at, { ...card, text }) }) };
    case "remove":
      return { ...c, columns: without };
    case "move":
      return put(without, e.toColumn ?? 0, e.toItem ?? 0, card);
    default:
      return undefined;
  }
}

function locateCard(c: KanbanComponent, e: Edit): { column: number; at: number } | undefined {
  const textOf = (card: KanbanCard): string => card.text;
  const named = c.columns[e.column ?? 0];
  const at = named === undefined ? -1 : locate(named.cards, e.item ?? 0, e.was ?? "", textOf);
  if (at >= 0) return { column: e.column ?? 0, at };
  const found = c.columns.map((k, column) => ({ column, at: locate(k.cards, -1, e.was ?? "", textOf) })).filter((f) => f.at >= 0);
  return found.length === 1 ? found[0] : undefined;
}

/** The cells of a row as an edit has them. */
export function rowText(row: readonly string[]): string {
  return row.join("\t");
}

function inTable(t: TableContent["data"], e: Edit): typeof t | undefined {
  const at = e.item ?? 0;
  switch (e.op) {
    case "add": {
      const row = (e.text ?? "").split("\t");
      if (row.length > t.headers.length) return undefined;
      return { ...t, rows: inserted(t.rows, at, t.headers.map((_, i) => row[i] ?? "")) };
    }
    case "remove": {
      const found = locate(t.rows, at, e.was ?? "", rowText);
      return found < 0 ? undefined : { ...t, rows: t.rows.toSpliced(found, 1) };
    }
    case "cell": {
      const row = t.rows[at];
      const column = e.column ?? 0;
      if (row === undefined || column >= Math.max(t.headers.length, row.length) || (row[column] ?? "") !== (e.was ?? "")) return undefined;
      const padded = [...row, ...Array.from({ length: Math.max(0, column + 1 - row.length) }, () => "")];
      return { ...t, rows: t.rows.with(at, padded.with(column, e.text ?? "")) };
    }
    default:
      return undefined;
  }
}
