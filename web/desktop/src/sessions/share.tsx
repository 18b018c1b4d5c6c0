import { Crown, Link2, RefreshCw, Trash2, UserPlus } from "lucide-react";
import { type FormEvent, type ReactNode, useCallback, useEffect, useMemo, useState } from "react";
import { useTexts } from "../i18n/use.js";
import { ApiError, type SessionCard } from "../shell/api.js";
import { useCommands, useEvents, useShell } from "../shell/context.js";
import { share as texts } from "../texts/share.js";
import { Button, IconButton } from "../ui/button.js";
import { CopyButton } from "../ui/copy.js";
import { Modal } from "../ui/modal.js";
import { Links } from "./links.js";

type Access = "viewer" | "operator";

/** Who may use this session, who is here now, and how to invite others. Only the owner changes it. */
export function SharePanel(): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const session = useShell((s) => s.session);
  const me = useShell((s) => s.me.user);
  const presence = useShell((s) => s.desktop.presence);
  const [card, setCard] = useState<SessionCard>();
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const [heir, setHeir] = useState("");
  const [invited, setInvited] = useState("");
  const here = useMemo(() => new Set(presence.map((c) => c.user ?? "")), [presence]);
  const onProblem = useCallback((error: unknown) => setProblem(reasonOf(error)), []);
  const read = useCallback(() => {
    commands.api.session(session).then(
      (c) => {
        setCard(c);
        setProblem("");
      },
      (error: unknown) => setProblem(reasonOf(error)),
    );
  }, [commands, session]);
  useEffect(read, [read]);
  useEvents((e) => {
    if (e.type !== "SESSION_USER_CHANGED") return;
    setHeir("");
    read();
  });
  const change = (what: Promise<unknown>): Promise<void> => {
    setBusy(true);
    return what
      .then(read, (error: unknown) => setProblem(reasonOf(error)))
      .finally(() => setBusy(false));
  };
  const path = (user: string): string => `/api/sessions/${encodeURIComponent(session)}/shares/${encodeURIComponent(user)}`;
  const put = (user: string, access: Access): Promise<void> => change(commands.api.ask("PUT", path(user), { access }));
  const give = (user: string): void => {
    setBusy(true);
    setProblem("");
    commands.api
      .ask("PUT", `/api/sessions/${encodeURIComponent(session)}/owner`, { user })
      .then(read, (error: unknown) => setProblem(error instanceof ApiError && error.status === 409 ? t.giveRefused(user) : reasonOf(error)))
      .finally(() => {
        setHeir("");
        setBusy(false);
      });
  };
  const owner = card?.access === "owner";
  const shares = card?.shares ?? [];
  return (
    <Modal title={t.title} closeLabel={t.close} onClose={() => commands.openPanel("")}>
      <div className="sessions-share">
        {problem !== "" && (
          <div role="alert" className="sessions-failed">
            <p>{t.failed(problem)}</p>
            <Button size="sm" icon={RefreshCw} onClick={read}>
              {t.again}
            </Button>
          </div>
        )}
        {card !== undefined && (
          <ul className="sessions-people" aria-label={t.people}>
            <Person name={card.user} own={card.user === me} here={here.has(card.user)}>
              <span>{t.owner}</span>
            </Person>
            {shares.map((s) => (
              <Person key={s.user} name={s.user} own={s.user === me} here={here.has(s.user)} newcomer={s.newcomer}>
                {owner ? (
                  <>
                    <select className="field" aria-label={t.accessOf(s.user)} value={s.access} disabled={busy} onChange={(e) => void put(s.user, e.target.value as Access)}>
                      <option value="viewer">{t.viewer}</option>
                      <option value="operator">{t.operator}</option>
                    </select>
                    <IconButton icon={Crown} label={t.give(s.user)} disabled={busy} onClick={() => setHeir(s.user)} />
                    <IconButton icon={Trash2} label={t.remove(s.user)} disabled={busy} onClick={() => void change(commands.api.ask("DELETE", path(s.user)))} />
                  </>
                ) : (
                  <span>{t[s.access]}</span>
                )}
              </Person>
            ))}
          </ul>
        )}
        <p role="status" className="sessions-invited">
          {shares.some((s) => s.user === invited) && t.invited(invited)}
        </p>
        {owner && heir !== "" && <Give user={heir} newcomer={shares.some((s) => s.user === heir && s.newcomer)} busy={busy} onGive={() => give(heir)} onCancel={() => setHeir("")} />}
        {owner && <Invite busy={busy} onInvite={(user, access) => put(user, access).then(() => setInvited(user))} />}
        {owner && <Links onProblem={onProblem} />}
        {card !== undefined && !owner && <p className="sessions-lead">{t.ownerOnly}</p>}
        <div className="sessions-link">
          <Link2 size={16} aria-hidden />
          <span>{t.linkHint}</span>
          <CopyButton text={`${location.origin}${commands.addressOf()}`} label={t.copyLink} wide />
        </div>
      </div>
    </Modal>
  );
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Asks before the session is given away, because the owner cannot take it back. */
function Give({ user, newcomer, busy, onGive, onCancel }: { user: string; newcomer: boolean; busy: boolean; onGive: () => void; onCancel: () => void }): ReactNode {
  const t = useTexts(texts);
  return (
    <div role="alertdialog" aria-label={t.give(user)} className="sessions-give">
      <strong>{t.giveMeans(user)}</strong>
      {newcomer && <p>{t.newcomer}</p>}
      <p>{t.giveHint}</p>
      <Button size="sm" autoFocus disabled={busy} onClick={onCancel}>
        {t.keep}
      </Button>
      <Button size="sm" kind="danger" icon={Crown} disabled={busy} onClick={onGive}>
        {t.give(user)}
      </Button>
    </div>
  );
}

function Person({ name, own, here, newcomer, children }: { name: string; own: boolean; here: boolean; newcomer?: boolean | undefined; children: ReactNode }): ReactNode {
  const t = useTexts(texts);
  return (
    <li className="sessions-person" data-person={name}>
      <span className="sessions-person-name">
        {name}
        {own && <small> {t.you}</small>}
        {here && <small className="sessions-here">{t.here}</small>}
        {newcomer && !here && <small className="sessions-newcomer">{t.newcomer}</small>}
      </span>
      {children}
    </li>
  );
}

function Invite({ busy, onInvite }: { busy: boolean; onInvite: (user: string, access: Access) => Promise<void> }): ReactNode {
  const t = useTexts(texts);
  const [user, setUser] = useState("");
  const [access, setAccess] = useState<Access>("viewer");
  const name = user.trim().normalize("NFC");
  const submit = (e: FormEvent): void => {
    e.preventDefault();
    if (name !== "") void onInvite(name, access).then(() => setUser(""));
  };
  return (
    <form className="sessions-invite" onSubmit={submit}>
      <input className="field" aria-label={t.user} placeholder={t.user} value={user} maxLength={120} autoComplete="off" onChange={(e) => setUser(e.target.value)} />
      <select className="field" aria-label={t.access} value={access} onChange={(e) => setAccess(e.target.value as Access)}>
        <option value="viewer">{t.viewer}</option>
        <option value="operator">{t.operator}</option>
      </select>
      <Button type="submit" kind="primary" icon={UserPlus} disabled={busy || name === ""}>
        {t.invite}
      </Button>
      <p>{access === "viewer" ? t.viewerHint : t.operatorHint}</p>
    </form>
  );
}
