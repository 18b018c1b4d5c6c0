import "./asks.css";
import "./inbox.css";
import { type ReactNode, useContext, useEffect, useMemo, useRef, useState } from "react";
import type { HubEvent } from "../../../core/src/index.js";
import { useTexts } from "../i18n/use.js";
import { PageContext, useCommands, useEvents, useShell } from "../shell/context.js";
import { usePhone } from "../shell/viewport.js";
import { asks as texts } from "../texts/asks.js";
import { Modal } from "../ui/modal.js";
import { type ClosedQuestion, type Ending, endingOf, fromHITLClosed } from "./answers.js";
import { Card } from "./card.js";
import { titleOf } from "./facts.js";
import { Inbox } from "./inbox.js";
import { askInFront } from "./order.js";
import { useAsks } from "./use.js";

export { Inbox } from "./inbox.js";

/** The questions of agents: the card with the question in front, and the inbox with all of them. */
export function Asks(): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const asks = useAsks();
  const phone = usePhone();
  const panel = useShell((s) => s.panel);
  const page = useShell((s) => s.phonePage);
  const [shown, setShown] = useState("");
  const [later, setLater] = useState<ReadonlySet<string>>(new Set());
  useEndingNotices();
  const wanted = useShell((s) => s.askWanted);
  useEffect(() => {
    if (wanted === "") return;
    setLater((l) => new Set([...l].filter((key) => key !== wanted)));
    setShown(wanted);
    commands.showAsk("");
    if (panel !== "") commands.openPanel("");
    document.querySelector<HTMLElement>(".asks-card .asks-view")?.focus();
  }, [wanted, panel, commands]);

  const open = useMemo(() => asks.filter((a) => !later.has(a.key)), [asks, later]);
  // A question that is asked again is no longer postponed.
  if ([...later].some((key) => !asks.some((a) => a.key === key))) setLater(new Set(asks.map((a) => a.key).filter((key) => later.has(key))));
  const front = askInFront(asks, shown, later);
  if (front !== undefined && front.key !== shown) setShown(front.key);
  // The inbox shows the same questions, with the same answers.
  const inInbox = panel === "inbox" || (phone && page === "inbox");
  return (
    <>
      {panel === "inbox" && (
        <Modal title={t.inbox} closeLabel={t.close} shape="side" onClose={() => commands.togglePanel("inbox")}>
          <Inbox />
        </Modal>
      )}
      {front !== undefined && !inInbox && (
        <Card
          ask={front}
          asks={open}
          folded={panel === "palette"}
          onUnfold={() => commands.openPanel("")}
          onShow={setShown}
          onLater={(key) => setLater((l) => new Set([...l, key]))}
        />
      )}
    </>
  );
}

/** Shows a notice when a question that was open here expires, is withdrawn or is answered elsewhere. */
function useEndingNotices(): void {
  const t = useTexts(texts);
  const commands = useCommands();
  const client = useContext(PageContext)?.client;
  const user = useShell((s) => s.me.user);
  const asks = useAsks();
  const seen = useRef(asks);
  seen.current = asks;
  useEvents((e) => {
    const [key, closed] = closedQuestionOf(e);
    const ask = seen.current.find((a) => a.key === key);
    if (client === undefined || ask === undefined || closed === undefined) return;
    const { outbox, desktop } = client.state;
    const end = endingOf(ask, closed, { outbox, presence: desktop.presence, user, now: Date.now() });
    if (end === undefined) return;
    commands.notify(t.about(endingText(end, t), titleOf(ask, t)), end.how === "expired" || end.how === "lost" ? "warning" : "info", 6000);
  });
}

/** The key of the question that an event closes, and how it was closed. */
function closedQuestionOf(e: HubEvent): [key: string, closed: ClosedQuestion] | [] {
  switch (e.type) {
    case "DIALOG_CLOSED":
      return [`approval/${e.data.dialogId}`, e.data];
    case "PROMPT_CLOSED":
      return [`prompt/${e.data.promptId}`, e.data];
    case "hitl_closed":
      return [`plan/${e.data.request_id}`, fromHITLClosed(e.data)];
    default:
      return [];
  }
}

function endingText(end: Ending, t: (typeof texts)["en"]): string {
  switch (end.how) {
    case "lost":
      return end.user === "" ? t.lostTab : t.lostUser(end.user);
    case "other":
      return t.other(end.user);
    default:
      return t[end.how];
  }
}
