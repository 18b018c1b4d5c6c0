import "./models.css";
import { RefreshCw } from "lucide-react";
import { type ReactNode, useCallback, useEffect, useState } from "react";
import { useTexts } from "../i18n/use.js";
import type { Backend } from "../shell/api.js";
import { useCommands, useShell } from "../shell/context.js";
import { models as texts } from "../texts/models.js";
import { Button } from "../ui/button.js";
import { Modal } from "../ui/modal.js";
import { ModelList } from "./list.js";
import { NewModel } from "./new-model.js";
import { Roles } from "./roles.js";

type State = { type: "reading" } | { type: "failed"; reason: string } | { type: "ready"; backends: Backend[] };

/** The page to connect a model: the connected ones, and a form for another. */
export function ConnectPanel(): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const models = useShell((s) => s.models);
  const [state, setState] = useState<State>({ type: "reading" });
  const read = useCallback(async (): Promise<void> => {
    try {
      const [backends] = await Promise.all([commands.api.backends(), commands.loadModels()]);
      setState({ type: "ready", backends });
    } catch (error) {
      setState({ type: "failed", reason: reasonOf(error) });
    }
  }, [commands]);
  useEffect(() => void read(), [read]);
  return (
    <Modal title={t.title} closeLabel={t.close} onClose={() => commands.openPanel("")} shape="wide">
      {state.type === "reading" && <p role="status">{t.reading}</p>}
      {state.type === "failed" && (
        <div role="alert" className="models-failed">
          <p>{t.failed(state.reason)}</p>
          <Button icon={RefreshCw} onClick={() => void read()}>
            {t.again}
          </Button>
        </div>
      )}
      {state.type === "ready" && models !== undefined && (
        <>
          <NewModel backends={state.backends} models={models} />
          <ModelList backends={state.backends} models={models} />
          <Roles models={models} />
        </>
      )}
    </Modal>
  );
}

export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
