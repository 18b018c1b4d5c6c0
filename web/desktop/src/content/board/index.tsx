import { type ReactNode, useMemo } from "react";
import type { Content, Layout, WindowState } from "../../../../core/src/index.js";
import { Checklist } from "./checklist.js";
import { Kanban } from "./kanban.js";
import { useEdits } from "./use-edits.js";

interface BoardProps {
  window: WindowState;
  layout: Layout;
  /** The index of the component in the layout. */
  component: number;
}

/** The checklist of a layout, with the edits that are on their way. */
export function ChecklistView({ window: w, layout, component }: BoardProps): ReactNode {
  const { content, edit } = useEdits(w, useContent(layout));
  const list = content.data.components[component];
  return list?.type === "checklist" && <Checklist list={list} edit={(e) => edit({ ...e, component })} />;
}

/** The board of a layout, with the edits that are on their way. */
export function KanbanView({ window: w, layout, component }: BoardProps): ReactNode {
  const { content, edit } = useEdits(w, useContent(layout));
  const board = content.data.components[component];
  return board?.type === "kanban" && <Kanban board={board} edit={(e) => edit({ ...e, component })} />;
}

function useContent(layout: Layout): Extract<Content, { renderer: "component" }> {
  return useMemo(() => ({ renderer: "component", data: layout }), [layout]);
}
