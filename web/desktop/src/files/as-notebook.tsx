// The button that opens a notebook file as a notebook, in which its cells can run.

import { NotebookPen } from "lucide-react";
import { type ReactNode, useState } from "react";
import type { WindowState } from "../../../core/src/index.js";
import { freeNotebook } from "../content/notebook/open.js";
import { useTexts } from "../i18n/use.js";
import { useCommands, useShell } from "../shell/context.js";
import { files as texts } from "../texts/files.js";
import { Button } from "../ui/button.js";
import { type FilesApi, reasonOf } from "./api.js";
import { baseName } from "./paths.js";

/** The largest notebook file that the hub reads. */
const mostNotebook = 16 << 20;

interface OpenAsNotebookProps {
  window: WindowState;
  path: string;
  /** The text in the editor; undefined if that has only a part of the file. */
  draft: string | undefined;
  api: FilesApi;
  /** Gets why the notebook could not be opened; "" before each attempt. */
  onProblem: (reason: string) => void;
}

export function OpenAsNotebook({ window: w, path, draft, api, onProblem }: OpenAsNotebookProps): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const windows = useShell((s) => s.desktop.windows);
  const [opening, setOpening] = useState(false);
  const open = async (): Promise<void> => {
    setOpening(true);
    onProblem("");
    try {
      const file = draft ?? (await api.read(path, mostNotebook)).data;
      await api.openNotebook(file, `notebook-${String(freeNotebook(windows.values()))}`, w.monitorId, baseName(path));
      commands.showPhonePage("windows");
    } catch (e) {
      onProblem(reasonOf(e));
    }
    setOpening(false);
  };
  return (
    <Button size="sm" icon={NotebookPen} disabled={opening} onClick={() => void open()}>
      {t.asNotebook}
    </Button>
  );
}
