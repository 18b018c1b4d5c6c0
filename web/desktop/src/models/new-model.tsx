import { FlaskConical, Play } from "lucide-react";
import { type FormEvent, type ReactNode, useEffect, useId, useRef, useState } from "react";
import { useTexts } from "../i18n/use.js";
import { type Backend, isConflict, type ListedModel, type ModelFailure, type ModelProfiles } from "../shell/api.js";
import { useCommands } from "../shell/context.js";
import { models as texts } from "../texts/models.js";
import { Button } from "../ui/button.js";
import { canList, type Draft, firstBackend, hasOwnAddress, missingField, newProfileId, newProfileName, profileOf } from "./profiles.js";
import { Failure, TestResult, useTest } from "./test-result.js";

interface NewModelProps {
  backends: readonly Backend[];
  models: ModelProfiles;
}

/** The form for another model: choose a backend, enter a key or an address, test, use. */
export function NewModel({ backends, models }: NewModelProps): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const [draft, setDraft] = useState<Draft>({ backend: firstBackend(backends)?.backend ?? "", baseUrl: "", key: "", model: "" });
  const [test, runTest, resetTest] = useTest();
  const [saving, setSaving] = useState(false);
  const [problem, setProblem] = useState("");
  const saveButton = useRef<HTMLButtonElement>(null);
  const backend = backends.find((b) => b.backend === draft.backend);
  useEffect(() => {
    if (test.type === "passed") saveButton.current?.focus();
  }, [test]);
  if (backend === undefined) return null;

  const change = (part: Partial<Draft>): void => {
    setDraft((now) => ({ ...now, ...part })); // a list of models may arrive while the user types
    setProblem("");
    resetTest();
  };
  const complete = missingField(backend, draft) === undefined;
  const save = async (): Promise<void> => {
    setSaving(true);
    setProblem("");
    try {
      const used = [...models.profiles.map((p) => p.id), ...backends.map((b) => b.backend)];
      const id = newProfileId(newProfileName(backend, draft.model), used);
      const key = draft.key.trim();
      if (key !== "") await commands.api.putSecret(id, key);
      const after = await commands.api.putModelProfile(id, { ...profileOf(backend, draft, key === "" ? "" : id), version: models.version });
      await commands.api.putModelRoles({ main: id }, after.version);
      await commands.loadModels();
      commands.setProvider(id);
      commands.notify(t.usedNow(newProfileName(backend, draft.model)), "success", 6000);
      commands.openPanel("");
    } catch (error) {
      setProblem(isConflict(error) ? t.conflict : t.failed(error instanceof Error ? error.message : String(error)));
      await commands.loadModels().catch(() => undefined);
      setSaving(false);
    }
  };
  const submit = (e: FormEvent): void => {
    e.preventDefault();
    if (!complete || saving || test.type === "running") return;
    if (test.type === "passed") void save();
    else void runTest({ profile: profileOf(backend, draft), ...(draft.key.trim() === "" ? {} : { key: draft.key.trim() }) });
  };
  return (
    <form className="models-new" aria-label={t.add} onSubmit={submit}>
      <h3>{t.add}</h3>
      <Kinds backends={backends} chosen={draft.backend} onChoose={(name) => change({ backend: name, baseUrl: "", model: "" })} />
      <Fields key={backend.backend} backend={backend} draft={draft} onChange={change} />
      <div className="models-actions">
        <Button type="submit" kind={test.type === "passed" ? "secondary" : "primary"} icon={FlaskConical} disabled={!complete || test.type === "running"} data-models="test">
          {test.type === "running" ? t.testing : t.test}
        </Button>
        <Button ref={saveButton} kind={test.type === "passed" ? "primary" : "secondary"} icon={Play} disabled={!complete || saving} onClick={() => void save()} data-models="use">
          {t.useNow}
        </Button>
      </div>
      <TestResult state={test} />
      {problem !== "" && (
        <p role="alert" className="models-problem">
          {problem}
        </p>
      )}
    </form>
  );
}

interface KindsProps {
  backends: readonly Backend[];
  chosen: string;
  onChoose: (backend: string) => void;
}

/** The backends to choose from, as radio buttons. */
function Kinds({ backends, chosen, onChoose }: KindsProps): ReactNode {
  const t = useTexts(texts);
  const hint = (b: Backend): string => {
    if (b.kind === "program") return t.programHint;
    if (b.kind === "local") return b.found ? t.localFound : t.localMissing;
    if (b.kind === "server") return t.serverHint;
    return b.needsKey ? t.serviceHint : t.serviceReady;
  };
  return (
    <div className="models-kinds" role="radiogroup" aria-label={t.kind}>
      {backends.map((b) => (
        <label key={b.backend} className="models-kind" data-backend={b.backend}>
          <input type="radio" name="models-backend" className="hidden-text" checked={chosen === b.backend} onChange={() => onChoose(b.backend)} />
          <strong>{b.kind === "server" ? t.compatible : b.label}</strong>
          <span>{hint(b)}</span>
        </label>
      ))}
    </div>
  );
}

interface FieldsProps {
  backend: Backend;
  draft: Draft;
  onChange: (part: Partial<Draft>) => void;
}

/** The text fields of a backend. The names of models come from the server as soon as it can be asked. */
function Fields({ backend, draft, onChange }: FieldsProps): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const id = useId();
  const [listed, setListed] = useState<readonly ListedModel[]>([]);
  const [failure, setFailure] = useState<ModelFailure>();
  const [asked, setAsked] = useState("");
  const latest = useRef(draft);
  latest.current = draft;
  const list = async (): Promise<void> => {
    const { baseUrl, key } = latest.current;
    const question = `${baseUrl}\n${key}`;
    if (!canList(backend, latest.current) || question === asked) return;
    setAsked(question);
    setFailure(undefined);
    try {
      const address = baseUrl.trim();
      const answer = await commands.api.listModels(backend.backend, {
        ...(address === "" || address === backend.baseUrl ? {} : { baseUrl: address }),
        ...(key.trim() === "" ? {} : { key: key.trim() }),
      });
      setListed(answer.models ?? []);
      setFailure(answer.failure);
      const first = answer.models?.[0];
      if (first !== undefined && latest.current.model === "" && backend.kind !== "service") onChange({ model: first.id });
    } catch {
      setAsked(""); // the next attempt asks again; Test says what is wrong
    }
  };
  useEffect(() => void list(), [backend]); // not when the user types: the address and the key are incomplete then
  const hasUrl = backend.kind === "server" || backend.kind === "local";
  const hasKey = backend.kind !== "program" && backend.kind !== "local";
  const address = (
    <label>
      <span>{t.baseUrl}</span>
      <input className="field" type="url" name="baseUrl" value={draft.baseUrl} placeholder={backend.baseUrl || "https://models.example.org/v1"} onChange={(e) => onChange({ baseUrl: e.target.value })} />
    </label>
  );
  return (
    <div className="models-fields" onBlur={() => void list()}>
      {hasUrl && address}
      {hasKey && (
        <label>
          <span>{backend.needsKey && !hasOwnAddress(backend, draft) ? t.key : t.keyOptional}</span>
          <input className="field" type="password" name="key" autoComplete="off" value={draft.key} onChange={(e) => onChange({ key: e.target.value })} />
        </label>
      )}
      <label>
        <span>{t.model}</span>
        <input className="field" name="model" list={`${id}-models`} autoComplete="off" value={draft.model} placeholder={backend.kind === "server" || backend.kind === "local" ? "" : t.modelDefault} onChange={(e) => onChange({ model: e.target.value })} />
        <datalist id={`${id}-models`}>
          {listed.map((m) => (
            <option key={m.id} value={m.id}>
              {m.name}
            </option>
          ))}
        </datalist>
      </label>
      {listed.length > 0 && (
        <p className="models-note" role="status">
          {t.listed(listed.length)}
        </p>
      )}
      {failure !== undefined && <Failure failure={failure} />}
      {backend.kind === "service" && (
        <details className="models-advanced">
          <summary>{t.advanced}</summary>
          {address}
          <p className="models-note">{t.baseUrlHint}</p>
        </details>
      )}
      {hasKey && <p className="models-note">{t.keyHint}</p>}
    </div>
  );
}

