import "../models/models.css";
import "./servers.css";
import { Plus, RefreshCw } from "lucide-react";
import { type ReactNode, useCallback, useEffect, useId, useState } from "react";
import { useTexts } from "../i18n/use.js";
import { reasonOf } from "../models/panel.js";
import { isConflict, type MCPServers } from "../shell/api.js";
import { useCommands } from "../shell/context.js";
import { servers as texts } from "../texts/servers.js";
import { Button } from "../ui/button.js";
import { Modal } from "../ui/modal.js";
import { ServerRow } from "./row.js";

/** The page of the MCP servers of the operator and of the user. */
export function ServersPanel(): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const [servers, setServers] = useState<MCPServers>();
  const [secrets, setSecrets] = useState<readonly string[]>([]);
  const [reason, setReason] = useState("");
  const read = useCallback(async (): Promise<void> => {
    setReason("");
    try {
      const [all, names] = await Promise.all([commands.api.mcpServers(), commands.api.secretNames()]);
      setServers(all);
      setSecrets(names);
    } catch (error) {
      setReason(reasonOf(error));
    }
  }, [commands]);
  useEffect(() => void read(), [read]);
  return (
    <Modal title={t.title} closeLabel={t.close} onClose={() => commands.openPanel("")} shape="wide">
      {servers === undefined && reason === "" && <p role="status">{t.reading}</p>}
      {reason !== "" && (
        <div role="alert" className="models-failed">
          <p>{t.failed(reason)}</p>
          <Button icon={RefreshCw} onClick={() => void read()}>
            {t.again}
          </Button>
        </div>
      )}
      {servers !== undefined && (
        <section className="models-list" aria-label={t.title}>
          <p className="models-note">{t.lead}</p>
          {servers.servers === null || servers.servers.length === 0 ? <p>{t.none}</p> : null}
          <ul>
            {(servers.servers ?? []).map((s) => (
              <ServerRow key={s.name} server={s} version={servers.version} known={secrets} onChanged={setServers} onSecret={(name) => setSecrets((all) => [...all, name])} />
            ))}
          </ul>
          <AddServers servers={servers} onChanged={setServers} />
        </section>
      )}
    </Modal>
  );
}

/** The field for a configuration that the user has for another program. */
function AddServers({ servers, onChanged }: { servers: MCPServers; onChanged: (all: MCPServers) => void }): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const id = useId();
  const [config, setConfig] = useState("");
  const [notes, setNotes] = useState<string[]>([]);
  const [problem, setProblem] = useState("");
  const add = async (): Promise<void> => {
    setProblem("");
    setNotes([]);
    try {
      const all = await commands.api.addMCPServers(config, servers.version);
      onChanged(all);
      setConfig("");
      setNotes(all.warnings ?? []);
    } catch (error) {
      setProblem(isConflict(error) ? t.conflict : t.failed(reasonOf(error)));
      if (isConflict(error)) onChanged(await commands.api.mcpServers());
    }
  };
  return (
    <div className="servers-add">
      <label htmlFor={id}>{t.paste}</label>
      <textarea
        id={id}
        className="field"
        name="mcpServers"
        rows={6}
        spellCheck={false}
        placeholder={'{"mcpServers": {"docs": {"url": "https://example.org/mcp"}}}'}
        value={config}
        onChange={(e) => setConfig(e.target.value)}
      />
      <p className="models-note">{servers.commands === true ? t.commands : t.noCommands}</p>
      {problem !== "" && (
        <p role="alert" className="models-problem">
          {problem}
        </p>
      )}
      {notes.map((note) => (
        <p key={note} role="status" className="models-note">
          {note}
        </p>
      ))}
      <div className="models-actions">
        <Button icon={Plus} disabled={config.trim() === ""} onClick={() => void add()} data-servers="add">
          {t.add}
        </Button>
      </div>
    </div>
  );
}
