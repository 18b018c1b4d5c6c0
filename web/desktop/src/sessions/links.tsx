import { Eye, Trash2 } from "lucide-react";
import { type FormEvent, type ReactNode, useCallback, useEffect, useState } from "react";
import { useFormat, useTexts } from "../i18n/use.js";
import { useCommands, useShell } from "../shell/context.js";
import { share as texts } from "../texts/share.js";
import { Button, IconButton } from "../ui/button.js";
import { CopyButton } from "../ui/copy.js";

/** A read-only link, without its secret. */
interface ReadLink {
  id: string;
  label?: string;
  expiresAt: string;
  /** When the moment was that the link shows; absent if it shows the session. */
  momentAt?: string;
}

const hour = 3600;

/** The lifetimes to choose from, in seconds. */
const lifetimes = [
  [hour, "lifetime1"],
  [24 * hour, "lifetime2"],
  [7 * 24 * hour, "lifetime3"],
  [30 * 24 * hour, "lifetime4"],
] as const;

/** The read-only links of the session, with which people read it without signing in. Only the owner sees this. */
export function Links({ onProblem }: { onProblem: (error: unknown) => void }): ReactNode {
  const t = useTexts(texts);
  const format = useFormat();
  const commands = useCommands();
  const session = useShell((s) => s.session);
  const signsIn = useShell((s) => s.me.auth !== "none");
  const [links, setLinks] = useState<readonly ReadLink[]>([]);
  const [made, setMade] = useState<ReadLink & { url: string }>();
  const [busy, setBusy] = useState(false);
  const path = `/api/sessions/${encodeURIComponent(session)}/links`;
  const read = useCallback(() => commands.api.ask<{ links: ReadLink[] }>("GET", path).then((l) => setLinks(l.links), onProblem), [commands, path, onProblem]);
  useEffect(() => void read(), [read]);
  const change = (what: Promise<unknown>): Promise<void> => {
    setBusy(true);
    return what.then(read, onProblem).finally(() => setBusy(false));
  };
  const create = (label: string, ttl: number): Promise<void> => change(commands.api.ask<ReadLink & { url: string }>("POST", path, { label, ttl }).then(setMade));
  const revoke = (link: ReadLink): void => {
    if (made?.id === link.id) setMade(undefined);
    void change(commands.api.ask("DELETE", `${path}/${encodeURIComponent(link.id)}`));
  };
  return (
    <section className="sessions-links" aria-label={t.links}>
      <h3>{t.links}</h3>
      {!signsIn && <p>{t.linksNeedSignIn}</p>}
      {links.length > 0 && (
        <ul className="sessions-people" aria-label={t.links}>
          {links.map((l) => (
            <li key={l.id} className="sessions-person" data-read-link={l.id}>
              <Eye size={16} aria-hidden />
              <span className="sessions-person-name">
                {l.label ?? t.unnamedLink}
                {l.momentAt !== undefined && ` · ${format.moment(Date.parse(l.momentAt))}`} <small>{t.linkUntil(format.moment(Date.parse(l.expiresAt)))}</small>
              </span>
              <IconButton icon={Trash2} label={t.revokeLink(l.label ?? t.unnamedLink)} disabled={busy} onClick={() => revoke(l)} />
            </li>
          ))}
        </ul>
      )}
      {made !== undefined && (
        <div className="sessions-link" role="status">
          <span>{t.linkMade}</span>
          <CopyButton text={made.url} label={t.copyReadLink} wide />
          <input className="field" readOnly aria-label={t.readLink} value={made.url} onFocus={(e) => e.target.select()} />
        </div>
      )}
      {signsIn && <NewLink busy={busy} onCreate={create} />}
    </section>
  );
}

function NewLink({ busy, onCreate }: { busy: boolean; onCreate: (label: string, ttl: number) => Promise<void> }): ReactNode {
  const t = useTexts(texts);
  const [label, setLabel] = useState("");
  const [ttl, setTTL] = useState<number>(lifetimes[1][0]);
  const submit = (e: FormEvent): void => {
    e.preventDefault();
    void onCreate(label.trim(), ttl).then(() => setLabel(""));
  };
  return (
    <form className="sessions-invite" onSubmit={submit}>
      <input className="field" aria-label={t.linkLabel} placeholder={t.linkLabel} value={label} maxLength={64} autoComplete="off" onChange={(e) => setLabel(e.target.value)} />
      <select className="field" aria-label={t.linkLife} value={ttl} onChange={(e) => setTTL(Number(e.target.value))}>
        {lifetimes.map(([seconds, name]) => (
          <option key={name} value={seconds}>
            {t[name]}
          </option>
        ))}
      </select>
      <Button type="submit" icon={Eye} disabled={busy}>
        {t.makeLink}
      </Button>
      <p>{t.linkMeans}</p>
    </form>
  );
}
