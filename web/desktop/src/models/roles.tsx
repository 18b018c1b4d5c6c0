import { type ReactNode, useState } from "react";
import { useTexts } from "../i18n/use.js";
import { isConflict, type ModelProfiles } from "../shell/api.js";
import { useCommands } from "../shell/context.js";
import { models as texts } from "../texts/models.js";
import { profileName } from "../topbar/profile.js";
import { type Role, roles } from "./profiles.js";

/** Which model is the default for what. */
export function Roles({ models }: { models: ModelProfiles }): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const [problem, setProblem] = useState("");
  const names: Record<Role, string> = { main: t.roleMain, window: t.roleWindow, task: t.roleTask, plan: t.rolePlan, summary: t.roleSummary, title: t.roleTitle };
  const choose = async (role: Role, id: string): Promise<void> => {
    setProblem("");
    try {
      await commands.api.putModelRoles({ [role]: id }, models.version);
    } catch (error) {
      setProblem(isConflict(error) ? t.conflict : t.failed(error instanceof Error ? error.message : String(error)));
    }
    await commands.loadModels().catch(() => undefined);
  };
  return (
    <details className="models-roles">
      <summary>{t.roles}</summary>
      <p className="models-note">{t.rolesHint}</p>
      {roles.map((role) => (
        <label key={role}>
          <span>{names[role]}</span>
          <select className="field" value={models.roles?.[role] ?? ""} onChange={(e) => void choose(role, e.target.value)}>
            <option value="">{role === "main" ? t.roleHub : t.roleSame}</option>
            {models.profiles.map((p) => (
              <option key={p.id} value={p.id}>
                {profileName(p.id, models.profiles)}
              </option>
            ))}
          </select>
        </label>
      ))}
      {problem !== "" && (
        <p role="alert" className="models-problem">
          {problem}
        </p>
      )}
    </details>
  );
}
