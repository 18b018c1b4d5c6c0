import { Plus, RefreshCw, Trash2 } from "lucide-react";
import { type FormEvent, type ReactNode, useCallback, useEffect, useState } from "react";
import { useFormat, useTexts } from "../i18n/use.js";
import type { McpToken, NewMcpToken } from "../shell/api.js";
import { useCommands, useShell } from "../shell/context.js";
import { programs as texts } from "../texts/programs.js";
import { Button, IconButton } from "../ui/button.js";
import { Modal } from "../ui/modal.js";
import { Command } from "./command.js";
import { codexSnippet, stdioSnippet, urlSnippet } from "./snippets.js";

type State = { type: "reading" } | { type: "failed"; reason: string } | { type: "ready"; tokens: McpToken[] };

const day = 24 * 3600;

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The programs that may use the tools of this session over MCP: creates, shows and revokes their tokens. */
export function ProgramsPanel(): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const session = useShell((s) => s.session);
  const [state, setState] = useState<State>({ type: "reading" });
  const [made, setMade] = useState<NewMcpToken>();
  const read = useCallback(async (): Promise<void> => {
    try {
      setState({ type: "ready", tokens: await commands.api.mcpTokens(session) });
    } catch (error) {
      setState({ type: "failed", reason: reasonOf(error) });
    }
  }, [commands, session]);
  useEffect(() => void read(), [read]);
  const revoke = (token: McpToken): void => {
    commands.api
      .revokeMcpToken(session, token.id)
      .then(() => {
        if (made?.id === token.id) setMade(undefined);
        return read();
      })
      .catch((error: unknown) => commands.notify(t.failed(reasonOf(error)), "error", 8000));
  };
  return (
    <Modal title={t.title} closeLabel={t.close} onClose={() => commands.openPanel("")} shape="wide">
      <p className="sessions-lead">{t.intro}</p>
      <NewToken
        onMade={(token) => {
          setMade(token);
          void read();
        }}
      />
      {made !== undefined && <Snippets token={made.token} />}
      {state.type === "reading" && (
        <p className="sessions-lead" role="status">
          {t.reading}
        </p>
      )}
      {state.type === "failed" && (
        <div role="alert" className="sessions-failed">
          <p>{t.failed(state.reason)}</p>
          <Button icon={RefreshCw} onClick={() => void read()}>
            {t.again}
          </Button>
        </div>
      )}
      {state.type === "ready" && state.tokens.length === 0 && <p className="sessions-lead">{t.none}</p>}
      {state.type === "ready" && (
        <ul className="sessions-list" aria-label={t.tokens}>
          {state.tokens.map((token) => (
            <TokenRow key={token.id} token={token} onRevoke={() => revoke(token)} />
          ))}
        </ul>
      )}
    </Modal>
  );
}

/** The form that creates a token. */
function NewToken({ onMade }: { onMade: (token: NewMcpToken) => void }): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const session = useShell((s) => s.session);
  const monitor = useShell((s) => s.view.monitor);
  const [name, setName] = useState("");
  const [profile, setProfile] = useState("default");
  const [days, setDays] = useState(30);
  const [busy, setBusy] = useState(false);
  const create = (e: FormEvent): void => {
    e.preventDefault();
    setBusy(true);
    commands.api
      .createMcpToken(session, { name: name.trim().normalize("NFC"), profile, monitor, ttl: days * day })
      .then((token) => {
        setName("");
        onMade(token);
      })
      .catch((error: unknown) => commands.notify(t.failed(reasonOf(error)), "error", 8000))
      .finally(() => setBusy(false));
  };
  const profiles: [string, string][] = [
    ["default", t.profileDefault],
    ["all", t.profileAll],
    ["code", t.profileCode],
    ["web", t.profileWeb],
    ["app", t.profileApp],
  ];
  return (
    <form className="sessions-new" onSubmit={create}>
      <input className="field" aria-label={t.name} placeholder={t.name} value={name} maxLength={64} required onChange={(e) => setName(e.target.value)} />
      <select className="field" aria-label={t.profile} value={profile} onChange={(e) => setProfile(e.target.value)}>
        {profiles.map(([id, label]) => (
          <option key={id} value={id}>
            {label}
          </option>
        ))}
      </select>
      <select className="field" aria-label={t.validity} value={days} onChange={(e) => setDays(Number(e.target.value))}>
        {[1, 30, 365].map((n) => (
          <option key={n} value={n}>
            {t.days(n)}
          </option>
        ))}
      </select>
      <Button kind="primary" icon={Plus} type="submit" disabled={busy || name.trim() === ""}>
        {t.create}
      </Button>
    </form>
  );
}

/** The configurations with a new token, which is not shown again. */
function Snippets({ token }: { token: string }): ReactNode {
  const t = useTexts(texts);
  const session = useShell((s) => s.session);
  const { origin } = location;
  return (
    <section className="sessions-ready" aria-label={t.ready}>
      <h3>{t.ready}</h3>
      <p>{t.once}</p>
      <p>{t.byURL}</p>
      <Command lines={urlSnippet(origin, token)} />
      <p>{t.byProgram}</p>
      <Command lines={stdioSnippet(origin, session, token)} />
      <p>{t.byCodex}</p>
      <Command lines={codexSnippet(origin, session, token)} />
    </section>
  );
}

function TokenRow({ token, onRevoke }: { token: McpToken; onRevoke: () => void }): ReactNode {
  const t = useTexts(texts);
  const format = useFormat();
  return (
    <li className="sessions-row">
      <div className="sessions-open">
        <span className="sessions-name">
          <span>{token.name}</span>
          <small>…{token.lastFour}</small>
        </span>
        <span className="sessions-meta">
          <span>{token.lastUsedAt === undefined ? t.unused : t.used(format.moment(Date.parse(token.lastUsedAt)))}</span>
          <span>{t.until(format.moment(Date.parse(token.expiresAt)))}</span>
        </span>
      </div>
      <IconButton icon={Trash2} label={t.revoke(token.name)} onClick={onRevoke} />
    </li>
  );
}
