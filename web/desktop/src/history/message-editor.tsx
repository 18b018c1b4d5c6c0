import { type ReactNode, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { firstMonitor, hasEnded, type MessageID } from "../../../core/src/index.js";
import { fits } from "../dock/pictures.js";
import type { MessageEntry } from "../drawer/entries.js";
import { useTexts } from "../i18n/use.js";
import { useCommands, useShell } from "../shell/context.js";
import { history as texts } from "../texts/history.js";
import { Button } from "../ui/button.js";
import { isComposing } from "../ui/keys.js";
import { useAmounts } from "./amounts.js";
import type { MessageActions } from "./conversation-state.js";
import { previewOf } from "./preview.js";
import { useHistoryReason } from "./reasons.js";

/** A message row as an editor. */
export function MessageEditor({ entry, actions }: { entry: MessageEntry; actions: MessageActions }): ReactNode {
  const t = useTexts(texts);
  const [draft, setDraft] = useState(entry.text);
  const onClose = (): void => actions.edit(undefined);
  const commands = useCommands();
  const why = useHistoryReason();
  const field = useRef<HTMLTextAreaElement>(null);
  const [sent, setSent] = useState<MessageID>();
  const item = useShell((s) => s.outbox.items.find((i) => i.id === sent));
  const refused = item?.status === "rejected" ? t.editFailed(why(item.reason ?? "", item.reasonCode)) : undefined;
  const busy = sent !== undefined && refused === undefined;
  const accepted = item !== undefined && (item.status !== "sending" || hasEnded(item)) && refused === undefined;
  const removal = useRemovalText(entry, actions);
  const latest = useRef(onClose);
  latest.current = onClose;
  useEffect(() => {
    if (accepted) latest.current();
  }, [accepted]);
  useEffect(() => {
    const { value } = field.current!;
    field.current!.focus();
    field.current!.setSelectionRange(value.length, value.length);
  }, []);
  useLayoutEffect(() => {
    const { style } = field.current!;
    style.height = "auto";
    style.height = `${Math.min(field.current!.scrollHeight + 2, 240)}px`;
  }, [draft]);

  const save = (): void => {
    const text = draft.trim().normalize("NFC");
    if (busy || (text === "" && entry.images.length === 0)) return;
    if (!fits(text, entry.images)) return commands.notify(t.editTooLong, "warning");
    const id = commands.edit(entry.ts, entry.monitorId, text, entry.images);
    if (id === undefined) return commands.notify(t.editFull, "warning", 6000);
    setSent(id);
    actions.saveDraft(undefined);
  };
  return (
    <form
      className="history-editor"
      onSubmit={(e) => {
        e.preventDefault();
        save();
      }}
    >
      <textarea
        ref={field}
        aria-label={t.editing}
        title={t.editHint}
        rows={1}
        value={draft}
        readOnly={busy}
        onChange={(e) => {
          setDraft(e.target.value);
          actions.saveDraft(e.target.value);
        }}
        onKeyDown={(e) => {
          if (isComposing(e)) return;
          if (e.key === "Escape") {
            e.preventDefault();
            e.stopPropagation();
            onClose();
          } else if (e.key === "Enter" && !e.shiftKey && !e.altKey) {
            e.preventDefault();
            save();
          }
        }}
      />
      {refused !== undefined && (
        <p className="drawer-danger" role="alert">
          {refused}
        </p>
      )}
      <div className="history-editor-foot">
        <span>{removal}</span>
        <Button size="sm" kind="ghost" onClick={onClose}>
          {t.cancel}
        </Button>
        <Button size="sm" kind="primary" type="submit" disabled={busy || (draft.trim() === "" && entry.images.length === 0)}>
          {busy ? t.saving : t.save}
        </Button>
      </div>
    </form>
  );
}

/** Describes in words what an edit removes besides the message itself; empty if nothing. */
function useRemovalText(entry: MessageEntry, actions: MessageActions): string {
  const t = useTexts(texts);
  const amounts = useAmounts();
  const rows = useShell((s) => s.desktop.rows);
  const queues = useShell((s) => s.desktop.queues);
  const preview = useMemo(() => {
    const here = [...actions.rows().values()].map((r) => r.row).filter((r) => (r.monitorId || firstMonitor) === entry.monitorId);
    return previewOf(here, entry.row!, new Set([...queues.values()].flat().map((m) => m.id)));
    // Older rows change only together with the rows of the desktop.
  }, [actions, rows, queues, entry]);
  const more = preview.messages + preview.answers + preview.tools > 1;
  return more ? t.editTakes(amounts(preview, { messages: 1 })) : "";
}
