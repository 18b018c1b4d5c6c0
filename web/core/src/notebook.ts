// Applies events to notebooks, as the Go package desktop does.

import type { KnownEvent } from "./event.js";
import { exact } from "./exact.js";
import { type Draft, firstMonitor, limits } from "./state.js";
import { findWindow } from "./window.js";
import type {
  Cell,
  CellExecuted,
  CellID,
  CellOutput,
  CellOutputs,
  Content,
  KernelStatus,
  Notebook,
  NotebookChanged,
} from "./wire.gen.js";

/** Applies an event of a notebook and reports whether it is one. */
export function applyNotebook(d: Draft, e: KnownEvent): boolean {
  switch (e.type) {
    case "NOTEBOOK_CHANGED":
      changeNotebook(d, e.data);
      return true;
    case "CELL_EXECUTED":
      executeCell(d, e.data, e.time);
      return true;
    case "CELL_OUTPUTS":
      addOutputs(d, e.data);
      return true;
    case "KERNEL_STATUS":
      setKernel(d, e.data);
      return true;
  }
  return false;
}

/** The names of the window that an event is about. */
interface Place {
  monitorId?: string;
  windowId: string;
}

/** Changes the notebook of a window, if the window has one. */
function edit(d: Draft, at: Place, change: (n: Notebook) => Notebook | undefined): void {
  const key = findWindow(d.desktop, at.monitorId || firstMonitor, at.windowId);
  const w = key === undefined ? undefined : d.desktop.windows.get(key);
  if (w === undefined || w.content.renderer !== "notebook") return;
  const data = change(w.content.data as Notebook);
  if (data !== undefined) d.edit("windows").set(key!, { ...w, content: { renderer: "notebook", data } });
}

function editCell(d: Draft, at: Place & { cellId: CellID }, change: (c: Cell) => Cell): void {
  edit(d, at, (n) => {
    const i = n.cells.findIndex((c) => c.id === at.cellId);
    return i < 0 ? undefined : { ...n, cells: n.cells.with(i, change(n.cells[i]!)) };
  });
}

function changeNotebook(d: Draft, p: NotebookChanged): void {
  edit(d, p, (n) => {
    const i = n.cells.findIndex((c) => c.id === p.cellId);
    const source = p.source ?? "";
    if (p.op === "insert") {
      if (i >= 0 || n.cells.length >= limits.cells) return undefined;
      return { ...n, cells: insertCell(n.cells, { id: p.cellId, kind: p.kind || "code", source, agentId: p.agentId }, p.after) };
    }
    const c = n.cells[i];
    if (c === undefined) return undefined;
    switch (p.op) {
      case "edit":
        return { ...n, cells: n.cells.with(i, { ...c, source, kind: p.kind || c.kind, agentId: p.agentId }) };
      case "delete":
        return { ...n, cells: n.cells.toSpliced(i, 1) };
      case "move":
        return { ...n, cells: insertCell(n.cells.toSpliced(i, 1), c, p.after) };
      case "clear":
        return { ...n, cells: n.cells.with(i, { ...c, outputs: undefined, cut: undefined }) };
    }
    return undefined;
  });
}

/** The cells with one more behind another, or at the end if that does not exist. */
function insertCell(cells: Cell[], c: Cell, after: CellID | undefined): Cell[] {
  if (!after) return [c, ...cells];
  const at = cells.findIndex((other) => other.id === after) + 1;
  return cells.toSpliced(at === 0 ? cells.length : at, 0, c);
}

function executeCell(d: Draft, p: CellExecuted, now: number): void {
  editCell(d, p, (old) => {
    const c: Cell = { ...old, state: p.state, reason: p.reason };
    if (p.state === "queued") return c;
    if (p.state === "running") return { ...c, outputs: undefined, cut: undefined, count: p.count, began: now, ended: undefined };
    return { ...c, count: p.count || c.count, ended: now };
  });
}

function addOutputs(d: Draft, p: CellOutputs): void {
  editCell(d, p, (c) => {
    const outputs = p.clear === true ? [] : [...(c.outputs ?? [])];
    for (const o of p.outputs ?? []) {
      const last = outputs.at(-1);
      if (o.type === "stream" && last?.type === "stream" && (last.name ?? "") === (o.name ?? "")) {
        outputs[outputs.length - 1] = { ...last, text: (last.text ?? "") + (o.text ?? "") };
      } else {
        outputs.push(o);
      }
    }
    return { ...c, outputs, cut: p.cut };
  });
  for (const u of p.updates ?? []) updateDisplay(d, p, u);
}

/** Replaces the data of all displays with an id. */
function updateDisplay(d: Draft, at: Place, u: CellOutput): void {
  const id = u.displayId ?? "";
  if (id === "") return;
  const replaced = (o: CellOutput): CellOutput => {
    if (o.displayId !== id) return o;
    const { [exact]: _, ...rest } = o as CellOutput & { [exact]?: Record<string, string> };
    const texts = (u as { [exact]?: Record<string, string> })[exact];
    return { ...rest, data: u.data, ...(texts?.["data"] === undefined ? {} : { [exact]: { data: texts["data"] } }) };
  };
  edit(d, at, (n) => ({ ...n, cells: n.cells.map((c) => (c.outputs === undefined ? c : { ...c, outputs: c.outputs.map(replaced) })) }));
}

function setKernel(d: Draft, p: KernelStatus): void {
  edit(d, p, (n) => ({
    ...n,
    kernel: {
      ...n.kernel,
      state: p.state,
      reason: p.reason,
      name: p.name || n.kernel?.name,
      language: p.language || n.kernel?.language,
      variables: p.state === "busy" ? n.kernel?.variables : p.variables,
    },
  }));
}

/** A content without executions: no kernel works for a notebook that an action opens. */
export function withoutExecutions(content: Content): Content {
  if (content.renderer !== "notebook") return content;
  const n = content.data as Notebook;
  const { state: _, reason: __, variables: ___, ...kernel } = n.kernel ?? {};
  const cells = n.cells.map((c) => (c.state === "queued" || c.state === "running" ? { ...c, state: undefined } : c));
  return { renderer: "notebook", data: { ...n, kernel, cells } };
}
