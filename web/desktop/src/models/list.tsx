import { FlaskConical, Lock, Play, Trash2 } from "lucide-react";
import { type ReactNode, useState } from "react";
import { useTexts } from "../i18n/use.js";
import type { Backend, ModelProfile, ModelProfiles } from "../shell/api.js";
import { useCommands } from "../shell/context.js";
import { models as texts } from "../texts/models.js";
import { profileName, useProfile } from "../topbar/profile.js";
import { Button, IconButton } from "../ui/button.js";
import { storedProfile } from "./profiles.js";
import { TestResult, useTest } from "./test-result.js";

/** The connected models: those of the user, then those of the hub, which are pinned. */
export function ModelList({ backends, models }: { backends: readonly Backend[]; models: ModelProfiles }): ReactNode {
  const t = useTexts(texts);
  return (
    <section className="models-list" aria-label={t.yours}>
      <h3>{t.yours}</h3>
      <ul>
        {models.profiles.map((p) => (
          <ModelRow key={p.id} profile={p} label={backends.find((b) => b.backend === p.backend)?.label ?? profileName(p.backend, undefined)} version={models.version} />
        ))}
      </ul>
    </section>
  );
}

function ModelRow({ profile: p, label, version }: { profile: ModelProfile; label: string; version: number }): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const current = useProfile() === p.id;
  const [test, runTest] = useTest();
  const [problem, setProblem] = useState("");
  const pinned = (p.pinned ?? "") !== "";
  const name = profileName(p.id, [p]);
  const remove = (): void => {
    commands.api
      .deleteModelProfile(p.id, version)
      .then(() => commands.loadModels())
      .catch(async (error: unknown) => {
        setProblem(t.failed(error instanceof Error ? error.message : String(error)));
        await commands.loadModels().catch(() => undefined);
      });
  };
  return (
    <li className="models-row" data-profile={p.id} aria-current={current || undefined}>
      <div className="models-row-text">
        <b>
          {name}
          {current && <small>{t.inUse}</small>}
          {pinned && (
            <small className="models-pinned" title={p.pinned}>
              <Lock size={11} aria-hidden />
              {t.pinned}
            </small>
          )}
        </b>
        <span className="models-note">{[label, p.model, p.baseUrl].filter((part) => part !== undefined && part !== "" && part !== name).join(" · ")}</span>
      </div>
      <div className="models-row-tools">
        <Button size="sm" icon={Play} disabled={current} aria-label={t.useOf(name)} onClick={() => commands.setProvider(p.id)}>
          {t.use}
        </Button>
        <Button size="sm" icon={FlaskConical} disabled={test.type === "running"} aria-label={t.testOf(name)} onClick={() => void runTest({ profile: storedProfile(p) })}>
          {test.type === "running" ? t.testing : t.test}
        </Button>
        {!pinned && <IconButton icon={Trash2} label={t.removeOf(name)} onClick={remove} />}
      </div>
      <TestResult state={test} />
      {problem !== "" && (
        <p role="alert" className="models-problem">
          {problem}
        </p>
      )}
    </li>
  );
}
