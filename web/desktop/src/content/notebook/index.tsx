// A notebook: cells that people and agents edit and run, with the same state in all tabs.

import "./notebook.css";
import { Download, FastForward, Plus, RotateCcw, Square } from "lucide-react";
import { type ReactNode, useMemo, useRef, useState } from "react";
import type { CellID, CellKind, KernelOp, KernelVariable, MessageID, Notebook, WindowState } from "../../../../core/src/index.js";
import { useTexts } from "../../i18n/use.js";
import { useCommands, useEvents, useShell } from "../../shell/context.js";
import { notebook as texts } from "../../texts/notebook.js";
import { Button } from "../../ui/button.js";
import { type CellActions, CellView } from "./cell.js";
import { useKeptFocus } from "./focus.js";
import { useFollowRun } from "./follow.js";

/** A new id of a cell, as notebook files have them. */
function newCellID(): CellID {
  return Array.from(crypto.getRandomValues(new Uint8Array(6)), (b) => b.toString(16).padStart(2, "0")).join("");
}

/** The variables that the kernel had after the last cell. */
function Variables({ all }: { all: readonly KernelVariable[] }): ReactNode {
  const t = useTexts(texts);
  if (all.length === 0) return null;
  return (
    <details className="notebook-variables">
      <summary>{t.variables(all.length)}</summary>
      <div className="notebook-variables-list" tabIndex={0} role="group" aria-label={t.variables(all.length)}>
        <table>
          <thead>
            <tr>
              <th scope="col">{t.variable}</th>
              <th scope="col">{t.type}</th>
              <th scope="col">{t.value}</th>
            </tr>
          </thead>
          <tbody>
            {all.map((v) => (
              <tr key={v.name}>
                <th scope="row">{v.name}</th>
                <td>{v.type}</td>
                <td>{v.value}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}

/** The id of a message, so that a refusal of the hub names it. */
const named = (): { messageId: MessageID } => ({ messageId: `notebook-${newCellID()}` });

export function NotebookView({ window: w, notebook: n }: { window: WindowState; notebook: Notebook }): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const session = useShell((s) => s.session);
  const off = useShell((s) => s.hub.notebooksOff);
  const [sent, setSent] = useState<MessageID>();
  const [refused, setRefused] = useState<{ id: MessageID; reason: string }>();
  useEvents((e) => {
    if (e.type === "MESSAGE_REJECTED" && e.data.messageId === sent) setRefused({ id: e.data.messageId, reason: e.data.reason });
  });
  const [sure, setSure] = useState(false);
  const cells = useFollowRun(n.cells);
  useKeptFocus(cells);
  const latest = useRef({ w, n });
  latest.current = { w, n };
  const actions = useMemo((): CellActions => {
    const at = (): { windowId: string; monitorId: string } => ({ windowId: latest.current.w.windowId, monitorId: latest.current.w.monitorId });
    return {
      change: (c) => setSent(commands.send("NOTEBOOK_EDIT", { ...c, ...at(), ...named() })),
      run: (id) => setSent(commands.send("RUN_CELLS", { cellIds: [id], ...at(), ...named() })),
      move(id, by) {
        const { cells } = latest.current.n;
        const i = cells.findIndex((c) => c.id === id);
        const to = i + by;
        if (i < 0 || to < 0 || to >= cells.length) return;
        const before = by < 0 ? cells[to - 1] : cells[to];
        setSent(commands.send("NOTEBOOK_EDIT", { op: "move", cellId: id, ...(before === undefined ? {} : { after: before.id }), ...at(), ...named() }));
      },
    };
  }, [commands]);
  const add = (kind: CellKind): void => {
    const last = n.cells.at(-1);
    actions.change({ op: "insert", cellId: newCellID(), kind, source: "", ...(last === undefined ? {} : { after: last.id }) });
  };
  const control = (op: KernelOp): void => setSent(commands.send("CONTROL_KERNEL", { op, windowId: w.windowId, monitorId: w.monitorId, ...named() }));
  const runAll = (): void => setSent(commands.send("RUN_CELLS", { windowId: w.windowId, monitorId: w.monitorId, ...named() }));
  const state = n.kernel?.state;
  // After a restored checkpoint, an opened file or a stop of the kernel.
  const older = (state === undefined || state === "stopped") && n.cells.some((c) => c.state === "ok" || c.state === "error" || c.state === "unknown");
  const language = n.kernel?.language ?? "";
  return (
    <div className="notebook" data-kernel={state ?? "none"}>
      <div className="notebook-bar" role="toolbar" aria-label={t.tools}>
        <Button size="sm" icon={FastForward} onClick={runAll}>
          {t.runAll}
        </Button>
        <Button size="sm" icon={Square} onClick={() => control("interrupt")}>
          {t.interrupt}
        </Button>
        <Button
          size="sm"
          icon={RotateCcw}
          onBlur={() => setSure(false)}
          onClick={() => {
            if (sure) control("restart");
            setSure(!sure);
          }}
        >
          {sure ? t.restartSure : t.restart}
        </Button>
        <span className="notebook-gap" />
        <a
          className="icon-button"
          href={`/api/sessions/${encodeURIComponent(session)}/notebooks/${encodeURIComponent(w.windowId)}?monitor=${encodeURIComponent(w.monitorId)}`}
          download={`${w.windowId}.ipynb`}
          aria-label={t.download}
          title={t.download}
        >
          <Download size={16} aria-hidden />
        </a>
        <span className="notebook-kernel" role="status" title={n.kernel?.reason}>
          {t.kernel}: {t[state ?? "none"]}
        </span>
      </div>
      {refused !== undefined && refused.id === sent && (
        <p className="notebook-refused" role="alert">
          {t.failed(refused.reason)}
        </p>
      )}
      {off !== undefined && <p className="notebook-note">{t.off(off)}</p>}
      {n.kernel?.reason && <p className="notebook-note">{n.kernel.reason}</p>}
      {older && (
        <p className="notebook-note">
          {t.older}{" "}
          <Button size="sm" kind="ghost" onClick={runAll}>
            {t.runAgain}
          </Button>
        </p>
      )}
      <Variables all={n.kernel?.variables ?? []} />
      <div ref={cells} className="notebook-cells" tabIndex={0} role="document" aria-label={w.title}>
        {n.cells.length === 0 && <p className="notebook-note">{t.empty}</p>}
        {n.cells.map((c, i) => (
          <CellView key={c.id} window={w} cell={c} n={i + 1} language={language} actions={actions} />
        ))}
        <div className="notebook-add">
          <Button size="sm" kind="ghost" icon={Plus} onClick={() => add("code")}>
            {t.addCode}
          </Button>
          <Button size="sm" kind="ghost" icon={Plus} onClick={() => add("markdown")}>
            {t.addText}
          </Button>
        </div>
      </div>
    </div>
  );
}
