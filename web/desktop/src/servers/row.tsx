import { Play, ScrollText, Trash2 } from "lucide-react";
import { type ReactNode, useState } from "react";
import { useTexts } from "../i18n/use.js";
import { reasonOf } from "../models/panel.js";
import type { MCPServer, MCPServerLine, MCPServers } from "../shell/api.js";
import { useCommands } from "../shell/context.js";
import { servers as texts } from "../texts/servers.js";
import { Button, IconButton } from "../ui/button.js";

interface ServerRowProps {
  server: MCPServer;
  version: number;
  onChanged: (all: MCPServers) => void;
}

/** A server in the list, with its state, tools, last error and log. */
export function ServerRow({ server: s, version, onChanged }: ServerRowProps): ReactNode {
  const t = useTexts(texts);
  const { api } = useCommands();
  const [busy, setBusy] = useState(false);
  const [asking, setAsking] = useState(false);
  const [problem, setProblem] = useState("");
  const [log, setLog] = useState<MCPServerLine[]>();
  const act = async (what: () => Promise<void>): Promise<void> => {
    setBusy(true);
    setProblem("");
    await what().catch((error: unknown) => setProblem(t.failed(reasonOf(error))));
    setBusy(false);
  };
  const tools = s.tools ?? [];
  const state = busy ? t.trying : s.disabled === true ? t.disabled : s.state === "failed" ? t.broken : t[s.state];
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
        <Button size="sm" icon={Play} disabled={busy || s.disabled === true} aria-label={t.tryOf(s.name)} onClick={() => void act(async () => onChanged(await api.tryMCPServer(s.name)))}>
          {t.try}
        </Button>
        <IconButton
          icon={ScrollText}
          label={t.logOf(s.name)}
          aria-expanded={log !== undefined}
          onClick={() => (log === undefined ? void act(async () => setLog((await api.mcpServerLog(s.name)).lines)) : setLog(undefined))}
        />
        {s.own && <IconButton icon={Trash2} label={t.removeOf(s.name)} onClick={() => setAsking(true)} />}
      </div>
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
        <pre className="servers-part servers-log" aria-label={t.logOf(s.name)}>
          {log.length === 0 ? t.noLog : log.map((l) => `${l.time} ${l.from}: ${l.text}`).join("\n")}
        </pre>
      )}
    </li>
  );
}
