import { ListTodo, Undo2 } from "lucide-react";
import { type ReactNode, useState } from "react";
import { type DesktopState, hasEnded, type MessageStatus, windowKey } from "../../../core/src/index.js";
import { titleIn, titleOf } from "../dock/agents.js";
import { usePutBack } from "../dock/drafts.js";
import { useFound, useMessageActions } from "../history/conversation-state.js";
import { MessageEditor } from "../history/message-editor.js";
import { MessageMenu } from "../history/message-menu.js";
import { useFormat, useTexts } from "../i18n/use.js";
import { isUnderWay, phaseOf } from "../plan/facts.js";
import { factsOf } from "../plan/use.js";
import { useCommands, useShell } from "../shell/context.js";
import { gesturesIn, pressIn } from "../shell/gesture.js";
import { useHasAccount } from "../shell/select.js";
import { drawer as texts } from "../texts/drawer.js";
import { plan as planTexts } from "../texts/plan.js";
import { Button } from "../ui/button.js";
import { CopyButton } from "./copy.js";
import type { MessageEntry } from "./entries.js";
import { isLong, LongText } from "./long-text.js";
import { MessageContent } from "./message-content.js";
import { EndedMark, hasSucceeded, statusIcons, useStatusText } from "./message-status.js";
import { useReason } from "./reasons.js";
import { useResend } from "./resend.js";
import { remedyOf } from "./tool.js";

/** A message of a user, with its status. */
export function MessageRow({ entry: e, tag }: { entry: MessageEntry; tag: ReactNode }): ReactNode {
  const t = useTexts(texts);
  const format = useFormat();
  const open = e.row === undefined;
  const actions = useMessageActions();
  const editing = !open && actions !== undefined && actions.editing === e.ts;
  const found = useFound() === e.ts;
  const window = useShell((s) => (e.window === undefined ? undefined : titleOf(s.desktop, e.monitorId, e.window)));
  const title = useShell((s) => (e.window === undefined ? "" : titleIn(s.desktop, e.monitorId, e.window)));
  // Viewers have sent nothing.
  const looksOn = useShell((s) => s.me.roles.every((r) => r === "viewer"));
  return (
    <article
      className={open ? "drawer-row drawer-user drawer-open" : "drawer-row drawer-user"}
      data-kind="user"
      {...(e.row === undefined ? {} : { "data-row": e.ts })}
      {...(e.id === undefined ? {} : { "data-message-id": e.id })}
      {...(e.status === undefined ? {} : { "data-message-status": e.status })}
    >
      <div className="drawer-row-head">
        {tag}
        <span className="drawer-row-name">
          {looksOn ? t.user : t.you}
          {window !== undefined && pressIn(e.text, window) === undefined && <span className="drawer-to"> {title === "" ? t.toClosed : t.toWindow(title)}</span>}
        </span>
        <time className="drawer-time" dateTime={new Date(e.ts).toISOString()}>
          {format.time(e.ts)}
        </time>
        {e.status !== undefined && hasSucceeded(e.status) && <EndedMark status={e.status} />}
        <CopyButton text={e.text} />
        <MessageMenu entry={e} window={window} />
      </div>
      {editing ? <MessageEditor entry={e} actions={actions} /> : <LongText long={isLong(e.text, 1200, 16)} found={found}>
          <MessageContent text={e.text} to={window === undefined ? undefined : { key: windowKey(e.monitorId, e.window!), title: window }} />
        </LongText>}
      {e.images.length > 0 && (
        <div className="drawer-pictures">
          {e.images.map((src, i) => (
            <Picture key={i} src={src} name={t.picture(i + 1)} />
          ))}
        </div>
      )}
      <PlanLine entry={e}>{e.status !== undefined && !hasSucceeded(e.status) && <StatusLine entry={e} status={e.status} />}</PlanLine>
    </article>
  );
}

function Picture({ src, name }: { src: string; name: string }): ReactNode {
  const t = useTexts(texts);
  const [large, setLarge] = useState(false);
  // Rows may come from any user of the session; only pictures that cause no request are shown.
  if (!/^data:image\/(png|jpeg|gif|webp);/.test(src)) return null;
  return (
    <button type="button" className="drawer-picture" aria-expanded={large} title={large ? t.shrink : t.enlarge} onClick={() => setLarge(!large)}>
      <img src={src} alt={name} />
    </button>
  );
}

/** The status of the plan that a message has started, with a button that shows it; for other messages, the children. */
function PlanLine({ entry: e, children }: { entry: MessageEntry; children: ReactNode }): ReactNode {
  const t = useTexts(texts);
  const planPhases = useTexts(planTexts);
  const commands = useCommands();
  const phase = useShell((s) => (isPlanOf(s.desktop, e) ? phaseOf(factsOf(s.desktop)) : "none"));
  if (!isUnderWay(phase) || (e.status !== undefined && ["sending", "rejected"].includes(e.status))) return children;
  return (
    <div className="drawer-status" data-plan-status={phase}>
      <ListTodo size={12} aria-hidden />
      <span className="drawer-status-text">{t.planned(planPhases[phase])}</span>
      <Button size="sm" kind="ghost" onClick={() => commands.showPlan(true)}>
        {planPhases.open}
      </Button>
    </div>
  );
}

/** Whether a message has started the current plan. Before the plan exists, only the tab that sent the message can say so. */
function isPlanOf(desktop: Pick<DesktopState, "plan" | "layer">, e: MessageEntry): boolean {
  if (e.id === undefined || desktop.layer === "") return false;
  if (desktop.plan?.messageId) return desktop.plan.messageId === e.id;
  const { sent } = e;
  return sent !== undefined && !hasEnded(sent) && "mode" in sent.data && sent.data.mode === "plan";
}

/** The status of a message in words, and the actions it allows. */
function StatusLine({ entry: e, status }: { entry: MessageEntry; status: MessageStatus }): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const resend = useResend();
  const putBack = usePutBack(e.monitorId);
  const Icon = e.withdrawn ? Undo2 : statusIcons[status];
  const text = useStatusText(status, e.position);
  const inWords = useReason();
  const hasAccount = useHasAccount();
  const bad = !e.withdrawn && (status === "rejected" || status === "failed");
  return (
    <div className={bad ? "drawer-status drawer-danger" : "drawer-status"}>
      <Icon size={12} aria-hidden className={status === "running" ? "drawer-turning" : undefined} />
      <span className="drawer-status-text">
        {e.withdrawn ? t.takenBack : text}
        {status === "rejected" && !e.withdrawn && e.reason ? `: ${inWords(e.reason)}` : ""}
      </span>
      {status === "queued" && e.id !== undefined && (
        <Button size="sm" kind="ghost" onClick={() => commands.deleteQueued(e.id!)}>
          {t.takeBack}
        </Button>
      )}
      {status === "rejected" && (
        <>
          {hasAccount && remedyOf(e.reason ?? "", e.code) === "connect" && (
            <Button size="sm" kind="primary" onClick={() => commands.openPanel("connect")}>
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
