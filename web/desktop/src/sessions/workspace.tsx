import { type FormEvent, type ReactNode, useEffect, useId, useState } from "react";
import { useTexts } from "../i18n/use.js";
import { useCommands, useShell } from "../shell/context.js";
import { useHasAccount } from "../shell/select.js";
import { workspace as texts } from "../texts/workspace.js";
import { Button } from "../ui/button.js";

interface State {
  /** The chosen folder; empty for a folder of the session. */
  folder: string;
  /** Folders to choose from; none if the operator allows none. */
  folders: string[];
  invalid?: boolean;
  /** The text of AGENTS.md in the folder. */
  instructions?: string;
  instructionsCut?: boolean;
  skills: { name: string; about: string }[];
  /** Why files for agents in the folder are not used. */
  unusable?: string;
}

/** The folder in which agents of this session work. It is shown only where the operator allows folders. */
export function Workspace(): ReactNode {
  const t = useTexts(texts);
  const { api } = useCommands();
  const session = useShell((s) => s.session);
  const account = useHasAccount();
  const [state, setState] = useState<State>();
  const [folder, setFolder] = useState("");
  const [said, setSaid] = useState("");
  const heading = useId();
  const list = useId();
  const path = `/api/sessions/${encodeURIComponent(session)}/workspace`;
  useEffect(() => {
    if (!account) return;
    let gone = false;
    const show = (s: State): void => {
      if (gone) return;
      setState(s);
      setFolder(s.folder);
    };
    api.ask<State>("GET", path).then(show, () => undefined); // without an answer there is nothing to choose
    return () => {
      gone = true;
    };
  }, [api, path, account]);
  if (state === undefined || (state.folders.length === 0 && state.folder === "")) return null;
  const choose = (e: FormEvent): void => {
    e.preventDefault();
    api.ask<State>("PUT", path, { folder: folder.trim() }).then(
      (s) => {
        setState(s);
        setFolder(s.folder);
        setSaid(t.saved);
      },
      (error: unknown) => setSaid(t.failed(error instanceof Error ? error.message : String(error))),
    );
  };
  return (
    <section className="sessions-set" data-workspace={state.folder}>
      <h3 id={heading}>{t.title}</h3>
      <p className="sessions-lead">{t.hint}</p>
      {state.invalid === true && <p role="alert">{t.invalid}</p>}
      <form className="sessions-new" onSubmit={choose}>
        <input className="field" aria-labelledby={heading} placeholder={t.placeholder} value={folder} list={list} maxLength={4096} onChange={(e) => setFolder(e.target.value)} />
        <datalist id={list}>
          {state.folders.map((f) => (
            <option key={f} value={f} />
          ))}
        </datalist>
        <Button type="submit">{t.save}</Button>
      </form>
      <p role="status">{said}</p>
      <Guidance state={state} />
    </section>
  );
}

/** The instructions and skills for agents in the files of the folder. */
function Guidance({ state }: { state: State }): ReactNode {
  const t = useTexts(texts);
  return (
    <>
      {state.instructions !== undefined && (
        <details>
          <summary>{state.instructionsCut === true ? t.instructionsCut : t.instructions}</summary>
          <pre tabIndex={0}>{state.instructions}</pre>
        </details>
      )}
      {state.skills.length > 0 && (
        <details>
          <summary>{t.skills(state.skills.length)}</summary>
          <ul>
            {state.skills.map((s) => (
              <li key={s.name}>
                <strong>{s.name}</strong>: {s.about}
              </li>
            ))}
          </ul>
        </details>
      )}
      {state.unusable !== undefined && <p role="note">{t.unusable(state.unusable)}</p>}
    </>
  );
}
