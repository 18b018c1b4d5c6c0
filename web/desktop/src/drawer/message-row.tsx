import { ListTodo, Undo2 } from "lucide-react";
import { type ReactNode, useState } from "react";
import { type Desk, type Fate, hasEnded, windowKey } from "../../../core/src/index.js";
import { titleOf } from "../dock/agents.js";
import { usePutBack } from "../dock/drafts.js";
import { MessageEditor } from "../history/message-editor.js";
import { MessageMenu } from "../history/message-menu.js";
import { useReach } from "../history/reach.js";
import { useFormat, useTexts } from "../i18n/use.js";
import { isUnderWay, phaseOf } from "../plan/facts.js";
import { factsOf } from "../plan/use.js";
import { useCommands, useShell } from "../shell/context.js";
import { gesturesIn, pressIn } from "../shell/gesture.js";
import { plan as planTexts, drawer as texts } from "../texts/parts.js";
import { Button } from "../ui/button.js";
import { CopyButton } from "./copy.js";
import type { MessageEntry } from "./entries.js";
import { fateIcons, isOver, OverMark, useFateText } from "./fate.js";
import { useReason } from "./reasons.js";
import { useResend } from "./resend.js";
import { Said } from "./said.js";
import { remedyOf } from "./tool.js";

/** Something that a person said, and what became of it. */
export function MessageRow({ entry: e, tag }: { entry: MessageEntry; tag: ReactNode }): ReactNode {
  const t = useTexts(texts);
  const format = useFormat();
  const open = e.row === undefined;
  const reach = useReach();
  const editing = !open && reach !== undefined && reach.editing === e.ts;
  const window = useShell((s) => (e.window === undefined ? undefined : titleOf(s.desk, e.monitorId, e.window)));
  return (
    <article
      className={open ? "drawer-row drawer-user drawer-open" : "drawer-row drawer-user"}
      data-kind="user"
      {...(e.row === undefined ? {} : { "data-row": e.ts })}
      {...(e.id === undefined ? {} : { "data-message-id": e.id })}
      {...(e.fate === undefined ? {} : { "data-fate": e.fate })}
    >
      <div className="drawer-row-head">
        {tag}
        <span className="drawer-row-name">
          {t.you}
          {window !== undefined && pressIn(e.text, window) === undefined && <span className="drawer-to"> {t.toWindow(window)}</span>}
        </span>
        <time className="drawer-time" dateTime={new Date(e.ts).toISOString()}>
          {format.time(e.ts)}
        </time>
        {e.fate !== undefined && isOver(e.fate) && <OverMark fate={e.fate} />}
        <CopyButton text={e.text} />
        <MessageMenu entry={e} window={window} />
      </div>
      {editing ? <MessageEditor entry={e} reach={reach} /> : <Said text={e.text} to={window === undefined ? undefined : { key: windowKey(e.monitorId, e.window!), title: window }} />}
      {e.images.length > 0 && (
        <div className="drawer-pictures">
          {e.images.map((src, i) => (
            <Picture key={i} src={src} name={t.picture(i + 1)} />
          ))}
        </div>
      )}
      <PlanLine entry={e}>{e.fate !== undefined && !isOver(e.fate) && <FateLine entry={e} fate={e.fate} />}</PlanLine>
    </article>
  );
}

function Picture({ src, name }: { src: string; name: string }): ReactNode {
  const t = useTexts(texts);
  const [large, setLarge] = useState(false);
  // Rows come from anybody in the session; only pictures that load nothing are shown.
  if (!/^data:image\/(png|jpeg|gif|webp);/.test(src)) return null;
  return (
    <button type="button" className="drawer-picture" aria-expanded={large} title={large ? t.shrink : t.enlarge} onClick={() => setLarge(!large)}>
      <img src={src} alt={name} />
    </button>
  );
}

/** Where the plan is that a message has become; for all other messages what is said of them anyway. */
function PlanLine({ entry: e, children }: { entry: MessageEntry; children: ReactNode }): ReactNode {
  const t = useTexts(texts);
  const planPhases = useTexts(planTexts);
  const commands = useCommands();
  const phase = useShell((s) => (isPlanOf(s.desk, e) ? phaseOf(factsOf(s.desk)) : "none"));
  if (!isUnderWay(phase) || (e.fate !== undefined && ["sending", "rejected"].includes(e.fate))) return children;
  return (
    <div className="drawer-fate" data-plan-fate={phase}>
      <ListTodo size={12} aria-hidden />
      <span className="drawer-fate-text">{t.planned(planPhases[phase])}</span>
      <Button size="sm" kind="ghost" onClick={() => commands.showPlan(true)}>
        {planPhases.open}
      </Button>
    </div>
  );
}

/** Whether the plan of the desk is the one that a message asked for. Before there is a plan, who sent it knows. */
function isPlanOf(desk: Pick<Desk, "plan" | "layer">, e: MessageEntry): boolean {
  if (e.id === undefined || desk.layer === "") return false;
  if (desk.plan?.messageId) return desk.plan.messageId === e.id;
  const { sent } = e;
  return sent !== undefined && !hasEnded(sent) && "mode" in sent.data && sent.data.mode === "plan";
}

/** What became of a message, in words, and what can be done about it. */
function FateLine({ entry: e, fate }: { entry: MessageEntry; fate: Fate }): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const resend = useResend();
  const putBack = usePutBack(e.monitorId);
  const Icon = e.takenBack ? Undo2 : fateIcons[fate];
  const text = useFateText(fate, e.position);
  const inWords = useReason();
  const bad = !e.takenBack && (fate === "rejected" || fate === "failed");
  return (
    <div className={bad ? "drawer-fate drawer-danger" : "drawer-fate"}>
      <Icon size={12} aria-hidden className={fate === "running" ? "drawer-turning" : undefined} />
      <span className="drawer-fate-text">
        {e.takenBack ? t.takenBack : text}
        {fate === "rejected" && !e.takenBack && e.reason ? `: ${inWords(e.reason)}` : ""}
      </span>
      {fate === "queued" && e.id !== undefined && (
        <Button size="sm" kind="ghost" onClick={() => commands.takeBack(e.id!)}>
          {t.takeBack}
        </Button>
      )}
      {fate === "rejected" && (
        <>
          {remedyOf(e.reason ?? "", e.code) === "connect" && (
            <Button size="sm" kind="primary" onClick={() => commands.open("connect")}>
              {t.connect}
            </Button>
          )}
          {e.sent?.type !== "COMPONENT_ACTION" && gesturesIn(e.text) === undefined && (
            <Button size="sm" kind="ghost" onClick={() => putBack(e.text)}>
              {t.putBack}
            </Button>
          )}
          <Button size="sm" kind="ghost" onClick={() => resend(e)}>
            {t.sendAgain}
          </Button>
        </>
      )}
    </div>
  );
}
