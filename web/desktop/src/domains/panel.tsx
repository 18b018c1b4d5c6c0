import "../models/models.css";
import { Plus, RefreshCw, Trash2 } from "lucide-react";
import { type ReactNode, useCallback, useEffect, useId, useRef, useState } from "react";
import { useTexts } from "../i18n/use.js";
import { reasonOf } from "../models/panel.js";
import { useCommands } from "../shell/context.js";
import { domains as texts } from "../texts/domains.js";
import { Button, IconButton } from "../ui/button.js";
import { Modal } from "../ui/modal.js";

/** The domains that agents and apps of the user may reach. */
export interface Domains {
  allowAllDomains: boolean;
  domains: string[] | null;
}

interface Patch {
  allow?: string[];
  remove?: string[];
  allowAllDomains?: boolean;
}

/** The page of the domains that the user has allowed. */
export function DomainsPanel(): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const [domains, setDomains] = useState<Domains>();
  const [reason, setReason] = useState("");
  const heading = useRef<HTMLParagraphElement>(null);
  const run = useCallback(
    async (patch?: Patch): Promise<boolean> => {
      setReason("");
      try {
        setDomains(await (patch === undefined ? commands.api.ask<Domains>("GET", "/api/domains") : commands.api.ask<Domains>("PATCH", "/api/domains", patch)));
        return true;
      } catch (error) {
        setReason(reasonOf(error));
        return false;
      }
    },
    [commands],
  );
  useEffect(() => void run(), [run]);
  const names = domains?.domains ?? [];
  // The button that had the focus is gone.
  const remove = async (name: string): Promise<void> => void ((await run({ remove: [name] })) && heading.current?.focus());
  return (
    <Modal title={t.title} closeLabel={t.close} onClose={() => commands.openPanel("")} shape="wide">
      {domains === undefined && reason === "" && <p role="status">{t.reading}</p>}
      {reason !== "" && (
        <div role="alert" className="models-failed">
          <p>{t.failed(reason)}</p>
          <Button icon={RefreshCw} onClick={() => void run()}>
            {t.again}
          </Button>
        </div>
      )}
      {domains !== undefined && (
        <section className="models-list" aria-label={t.title}>
          <p className="models-note" ref={heading} tabIndex={-1}>
            {t.lead}
          </p>
          {domains.allowAllDomains && (
            <div className="models-actions">
              <p role="status">{t.all}</p>
              <Button size="sm" kind="danger" onClick={() => void run({ allowAllDomains: false })}>
                {t.notAll}
              </Button>
            </div>
          )}
          {names.length === 0 && <p>{t.none}</p>}
          <ul>
            {names.map((name) => (
              <li key={name} className="models-row" data-domain={name}>
                <b className="models-row-text">{name}</b>
                <IconButton icon={Trash2} label={t.removeOf(name)} onClick={() => void remove(name)} />
              </li>
            ))}
          </ul>
          <AddDomain onAdd={(name) => run({ allow: [name] })} />
        </section>
      )}
    </Modal>
  );
}

function AddDomain({ onAdd }: { onAdd: (name: string) => Promise<boolean> }): ReactNode {
  const t = useTexts(texts);
  const id = useId();
  const [name, setName] = useState("");
  return (
    <form
      onSubmit={(e) => {
        e.preventDefault();
        void onAdd(name.trim()).then((added) => added && setName(""));
      }}
    >
      <label htmlFor={id}>{t.name}</label>
      <div className="models-actions">
        <input id={id} className="field" name="domain" autoComplete="off" spellCheck={false} placeholder="api.example.org" value={name} onChange={(e) => setName(e.target.value)} />
        <Button icon={Plus} type="submit" disabled={name.trim() === ""}>
          {t.add}
        </Button>
      </div>
    </form>
  );
}
