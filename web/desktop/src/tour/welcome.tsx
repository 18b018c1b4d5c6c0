import { AppWindow, ClipboardList, LayoutTemplate, ListChecks, type LucideIcon, MonitorPlay, Play, Plug, ShieldQuestion } from "lucide-react";
import type { ReactNode } from "react";
import { useTexts } from "../i18n/use.js";
import { TemplateList } from "../launcher/template-list.js";
import { useTemplate } from "../launcher/use-template.js";
import { RecentSessions } from "../sessions/recent.js";
import { useCommands, useShell } from "../shell/context.js";
import { useHasAccount } from "../shell/select.js";
import { tour as texts } from "../texts/tour.js";
import { Button } from "../ui/button.js";
import { LivingDesktop } from "./scene.js";
import { type AgentStep, agentSteps, requests } from "./steps.js";

const icons: Record<AgentStep, LucideIcon> = {
  windows: AppWindow,
  form: ClipboardList,
  approval: ShieldQuestion,
  plan: ListChecks,
  background: MonitorPlay,
};

/** The first screen with the demo provider: what Everdesk is, and three ways to begin. */
export function Welcome({ onShow }: { onShow: (step: AgentStep) => void }): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const language = useShell((s) => s.language);
  const hasAccount = useHasAccount();
  const openTemplate = useTemplate();
  return (
    <div className="tour-middle">
      <section className="tour-card" aria-labelledby="tour-hello">
        <div className="tour-hero">
          <div>
            <h1 id="tour-hello">{t.hello}</h1>
            <p>{t.line}</p>
          </div>
          <LivingDesktop />
        </div>
        <div className="tour-doors">
          <section className="tour-door" aria-labelledby="tour-try">
            <h2 id="tour-try">
              <Play size={16} aria-hidden />
              {t.try}
            </h2>
            <p>{t.intro}</p>
            <ul className="tour-offers">
              {agentSteps.map((s) => {
                const Icon = icons[s];
                return (
                  <li key={s} data-step={s}>
                    <button type="button" className="tour-offer" title={requests[language][s]} onClick={() => onShow(s)}>
                      <Icon size={16} aria-hidden className="tour-offer-icon" />
                      <span className="tour-offer-text">
                        <strong>{t[s]}</strong>
                        <span>{t[`${s}Hint`]}</span>
                      </span>
                    </button>
                  </li>
                );
              })}
            </ul>
          </section>
          <div className="tour-doors-side">
            <section className="tour-door" aria-labelledby="tour-template">
              <h2 id="tour-template">
                <LayoutTemplate size={16} aria-hidden />
                {t.template}
              </h2>
              <TemplateList onOpen={openTemplate} />
            </section>
            {hasAccount && (
              <section className="tour-door" aria-labelledby="tour-model">
                <h2 id="tour-model">
                  <Plug size={16} aria-hidden />
                  {t.model}
                </h2>
                <p>{t.modelHint}</p>
                <Button kind="primary" size="sm" icon={Plug} onClick={() => commands.openPanel("connect")}>
                  {t.connect}
                </Button>
              </section>
            )}
            {hasAccount && <RecentSessions />}
          </div>
        </div>
        <footer className="tour-foot">
          <span>{t.later}</span>
          <Button kind="ghost" size="sm" onClick={() => commands.showTour(false)}>
            {t.skip}
          </Button>
        </footer>
      </section>
    </div>
  );
}
