import { AppWindow, ClipboardList, ListChecks, type LucideIcon, MonitorPlay, Plug, ShieldQuestion } from "lucide-react";
import type { ReactNode } from "react";
import { useTexts } from "../i18n/use.js";
import { useCommands, useShell } from "../shell/context.js";
import { useHasAccount } from "../shell/select.js";
import { tour as texts } from "../texts/tour.js";
import { Button } from "../ui/button.js";
import { type AgentStep, agentSteps, requests } from "./steps.js";

const icons: Record<AgentStep, LucideIcon> = {
  windows: AppWindow,
  form: ClipboardList,
  approval: ShieldQuestion,
  plan: ListChecks,
  background: MonitorPlay,
};

/** The welcome of the demo provider. */
export function Welcome({ onShow }: { onShow: (step: AgentStep) => void }): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const language = useShell((s) => s.language);
  const hasAccount = useHasAccount();
  return (
    <div className="tour-middle">
      <section className="tour-card" aria-labelledby="tour-hello">
        <h1 id="tour-hello">{t.hello}</h1>
        <p>{t.intro}</p>
        <h2>{t.try}</h2>
        <ul className="tour-offers">
          {agentSteps.map((s) => {
            const Icon = icons[s];
            return (
              <li key={s} data-step={s}>
                <button type="button" className="tour-offer" onClick={() => onShow(s)}>
                  <Icon size={18} aria-hidden className="tour-offer-icon" />
                  <span className="tour-offer-text">
                    <strong>{t[s]}</strong>
                    <span>{t[`${s}Hint`]}</span>
                  </span>
                  <q>{requests[language][s]}</q>
                </button>
              </li>
            );
          })}
        </ul>
        <footer className="tour-foot">
          <span>{t.later}</span>
          {hasAccount && (
            <Button kind="primary" size="sm" icon={Plug} onClick={() => commands.openPanel("connect")}>
              {t.model}
            </Button>
          )}
          <Button kind="ghost" size="sm" onClick={() => commands.showTour(false)}>
            {t.skip}
          </Button>
        </footer>
      </section>
    </div>
  );
}
