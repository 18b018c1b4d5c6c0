import { ArrowUpRight } from "lucide-react";
import type { ReactNode } from "react";
import { useTexts } from "../i18n/use.js";
import { TemplateList } from "../launcher/template-list.js";
import { useTemplate } from "../launcher/use-template.js";
import { RecentSessions } from "../sessions/recent.js";
import { useCommands, useShell } from "../shell/context.js";
import { useHasAccount, useMonitor } from "../shell/select.js";
import type { Shell } from "../shell/shell.js";
import { tour as texts } from "../texts/tour.js";
import { requests } from "./steps.js";

/** Whether the session has no messages and no windows. */
export function isFresh({ desktop, outbox }: Shell): boolean {
  return desktop.rows.size === 0 && desktop.windows.size === 0 && !outbox.items.some((i) => i.type === "USER_MESSAGE");
}

/** Suggestions for a first message, and a function that sends one. */
function useSuggestions(): { ideas: string[]; ask: (text: string) => void } {
  const t = useTexts(texts);
  const commands = useCommands();
  const monitor = useMonitor();
  const language = useShell((s) => s.language);
  const demo = useShell((s) => (s.desktop.provider || s.hub.provider) === "demo");
  const r = requests[language];
  return {
    ideas: demo ? [r.windows, r.form, r.approval] : [t.example1, t.example2, t.example3],
    ask: (text) => {
      if (commands.sendMessage(text, monitor) === undefined) commands.notify(t.notSent, "warning");
    },
  };
}

/** A few suggestions in the middle of an empty desktop. */
export function Examples(): ReactNode {
  const t = useTexts(texts);
  const { ideas, ask } = useSuggestions();
  const hasAccount = useHasAccount();
  const openTemplate = useTemplate();
  return (
    <div className="tour-middle">
      <section className="tour-empty" aria-labelledby="tour-empty">
        <h1 id="tour-empty">{t.empty}</h1>
        <p>{t.emptyHint}</p>
        <ul>
          {ideas.map((text) => (
            <li key={text}>
              <button type="button" className="tour-example" onClick={() => ask(text)}>
                {text}
                <ArrowUpRight size={14} aria-hidden />
              </button>
            </li>
          ))}
        </ul>
        {hasAccount && (
          <>
            <h2>{t.template}</h2>
            <TemplateList onOpen={openTemplate} />
            <RecentSessions />
          </>
        )}
      </section>
    </div>
  );
}
