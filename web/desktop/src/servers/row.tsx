import { KeyRound, Play, Power, PowerOff, ScrollText, Trash2 } from "lucide-react";
import { type FormEvent, type ReactNode, useState } from "react";
import { useTexts } from "../i18n/use.js";
import { reasonOf } from "../models/panel.js";
import { isConflict, type MCPServer, type MCPServerLine, type MCPServers } from "../shell/api.js";
import { useCommands } from "../shell/context.js";
import { servers as texts } from "../texts/servers.js";
import { Button, IconButton } from "../ui/button.js";

interface ServerRowProps {
  server: MCPServer;
  version: number;
  /** The names of the secrets that the user has set. */
  known: readonly string[];
  onChanged: (all: MCPServers) => void;
  /** Called after the user has set a secret. */
  onSecret: (name: string) => void;
}

/** A server in the list, with its state, tools, last error and log. */
export function ServerRow({ server: s, version, known, onChanged, onSecret }: ServerRowProps): ReactNode {
  const t = useTexts(texts);
  const { api } = useCommands();
  const [busy, setBusy] = useState(false);
  const [asking, setAsking] = useState(false);
  const [problem, setProblem] = useState("");
  const [log, setLog] = useState<MCPServerLine[]>();
  const act = async (what: () => Promise<void>): Promise<void> => {
    setBusy(true);
    setProblem("");
    try {
      await what();
    } catch (error) {
      setProblem(isConflict(error) ? t.conflict : t.failed(reasonOf(error)));
      if (isConflict(error)) await api.mcpServers().then(onChanged, () => undefined);
    }
    setBusy(false);
  };
  const tools = s.tools ?? [];
  const off = s.disabled === true;
  // A server that the whole hub shares has the secrets of the hub.
  const missing = s.scope === "hub" ? [] : (s.secrets ?? []).filter((name) => !known.includes(name));
  const state = busy ? t.trying : off ? t.disabled : s.state === "failed" ? t.broken : t[s.state];
  return (
    <li className="models-row" data-server={s.name}>
      <div className="models-row-text">
        <b>
          {s.name}
          <small data-state={s.state}>{state}</small>
          {!s.own && <small className="models-pinned">{t.ofOperator}</small>}
        </b>
        <span className="models-note">{s.url ?? ([s.command, ...(s.args ?? [])].join(" ") || s.type)}</span>
        {(s.secrets ?? []).length > 0 && <span className="models-note">{t.secrets((s.secrets ?? []).join(", "))}</span>}
      </div>
      <div className="models-row-tools">
        <Button size="sm" icon={Play} disabled={busy || off} aria-label={t.tryOf(s.name)} onClick={() => void act(async () => onChanged(await api.tryMCPServer(s.name)))}>
          {t.try}
        </Button>
        <IconButton
          icon={ScrollText}
          label={t.logOf(s.name)}
          aria-expanded={log !== undefined}
          onClick={() => (log === undefined ? void act(async () => setLog((await api.mcpServerLog(s.name)).lines)) : setLog(undefined))}
        />
        {s.own && (
          <IconButton
            icon={off ? PowerOff : Power}
            label={off ? t.switchOnOf(s.name) : t.switchOffOf(s.name)}
            disabled={busy}
            onClick={() => void act(async () => onChanged(await api.switchMCPServer(s, !off, version)))}
          />
        )}
        {s.own && <IconButton icon={Trash2} label={t.removeOf(s.name)} onClick={() => setAsking(true)} />}
      </div>
      {missing.map((name) => (
        <SecretField key={name} name={name} onSet={(value) => act(async () => api.putSecret(name, value).then(() => onSecret(name)))} />
      ))}
      {asking && (
        <div className="servers-part" role="group" aria-label={t.removeOf(s.name)}>
          <p className="models-note">{t.removeAsk}</p>
          <Button size="sm" kind="danger" autoFocus onClick={() => void act(async () => onChanged(await api.deleteMCPServer(s.name, version)))} data-servers="remove">
            {t.remove}
          </Button>
          <Button size="sm" onClick={() => setAsking(false)}>
            {t.cancel}
          </Button>
        </div>
      )}
      {(problem !== "" || (s.error !== undefined && s.state === "failed")) && (
        <p role="alert" className="models-problem">
          {problem !== "" ? problem : s.error}
        </p>
      )}
      {tools.length > 0 && (
        <details className="servers-part">
          <summary>{t.tools(tools.length)}</summary>
          <ul>
            {tools.map((tool) => (
              <li key={tool.name} title={tool.description}>
                {tool.title ?? tool.name} <code>{tool.modelName}</code>
              </li>
            ))}
          </ul>
        </details>
      )}
      {log !== undefined && (
        <pre className="servers-part servers-log" tabIndex={0} role="group" aria-label={t.logOf(s.name)}>
          {log.length === 0 ? t.noLog : log.map((l) => `${l.time} ${l.from}: ${l.text}`).join("\n")}
        </pre>
      )}
    </li>
  );
}

/** The field for a secret that a server needs and the user has not set. */
function SecretField({ name, onSet }: { name: string; onSet: (value: string) => Promise<void> }): ReactNode {
  const t = useTexts(texts);
  const [value, setValue] = useState("");
  const set = (e: FormEvent): void => {
    e.preventDefault();
    if (value !== "") void onSet(value);
  };
  return (
    <form className="servers-part" onSubmit={set} data-secret={name}>
      <label className="servers-secret">
        {t.secret(name)}
        <input className="field" type="password" autoComplete="off" value={value} onChange={(e) => setValue(e.target.value)} />
      </label>
      <Button size="sm" type="submit" icon={KeyRound} disabled={value === ""}>
        {t.saveSecret}
      </Button>
    </form>
  );
}
