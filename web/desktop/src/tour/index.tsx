import "./tour.css";
import { AppWindow, ClipboardList, ListChecks, type LucideIcon, MonitorPlay, Plug, ShieldQuestion } from "lucide-react";
import type { ReactNode } from "react";
import { useWords } from "../i18n/use.js";
import { useCommands, useShell } from "../shell/context.js";
import { Button } from "../ui/button.js";
import { Checklist } from "./checklist.js";
import { Examples, isFresh } from "./ideas.js";
import { useProgress, useShowing } from "./progress.js";
import { hasBegun, requests, shapeOf, type Showing, showings } from "./steps.js";
import texts from "./words.js";

export { Ideas } from "./ideas.js";

/** What floats over the canvas for who is new: a welcome, then a checklist; and on an empty desktop a few ideas. */
export function Tour(): ReactNode {
  const [progress, change] = useProgress();
  const show = useShowing(change);
  const ready = useShell((s) => s.ready);
  const provider = useShell((s) => s.desk.provider || s.hub.provider);
  const fresh = useShell(isFresh);
  const pinned = useShell((s) => s.view.pinned);
  const toured = useShell((s) => s.prefs.toured);
  const wanted = useShell((s) => s.tour);
  const shape = shapeOf({ ready, provider, fresh, pinned, toured, wanted, begun: hasBegun(progress) });
  switch (shape) {
    case "card":
      return <Welcome onShow={show} />;
    case "list":
      return <Checklist progress={progress} change={change} onShow={show} />;
    case "examples":
      return <Examples />;
    case "none":
      return null;
  }
}

const icons: Record<Showing, LucideIcon> = {
  windows: AppWindow,
  form: ClipboardList,
  approval: ShieldQuestion,
  plan: ListChecks,
  background: MonitorPlay,
};

function Welcome({ onShow }: { onShow: (step: Showing) => void }): ReactNode {
  const t = useWords(texts);
  const commands = useCommands();
  const language = useShell((s) => s.language);
  return (
    <div className="tour-middle">
      <section className="tour-card" aria-labelledby="tour-hello">
        <h1 id="tour-hello">{t.hello}</h1>
        <p>{t.intro}</p>
        <h2>{t.try}</h2>
        <ul className="tour-offers">
          {showings.map((s) => {
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
          <Button kind="ghost" size="sm" icon={Plug} onClick={() => commands.open("connect")}>
            {t.model}
          </Button>
          <Button kind="ghost" size="sm" onClick={() => commands.showTour(false)}>
            {t.skip}
          </Button>
        </footer>
      </section>
    </div>
  );
}
