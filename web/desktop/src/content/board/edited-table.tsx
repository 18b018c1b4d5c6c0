import type { ReactNode } from "react";
import type { Content, WindowState } from "../../../../core/src/index.js";
import { TableView } from "../table.js";
import { useEdits } from "./use-edits.js";

/** The table of a window, with the edits that are on their way. */
export function EditedTable({ window: w, content }: { window: WindowState; content: Extract<Content, { renderer: "table" }> }): ReactNode {
  const { content: shown, edit } = useEdits(w, content);
  return <TableView table={shown.data} label={w.title} edit={edit} />;
}
