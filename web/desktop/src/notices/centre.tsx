import { BellOff, X } from "lucide-react";
import { type ReactNode, useMemo } from "react";
import type { ShownNotification } from "../../../core/src/index.js";
import { useFormat, useTexts } from "../i18n/use.js";
import { useCommands, useShell } from "../shell/context.js";
import { monitorNumber } from "../shell/select.js";
import { notices as texts } from "../texts/notices.js";
import { Button, IconButton } from "../ui/button.js";
import { Modal } from "../ui/modal.js";
import { newestFirst } from "./visible-notices.js";

interface CentreProps {
  /** The time up to which notifications were read before the centre was opened. */
  readUntil: number;
}

/** All notifications that were not dismissed. */
export function Centre({ readUntil }: CentreProps): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const all = useShell((s) => s.desktop.notifications);
  const list = useMemo(() => newestFirst(all.values()), [all]);
  return (
    <Modal title={t.centre} closeLabel={t.close} shape="side" onClose={() => commands.togglePanel("notifications")}>
      {list.length === 0 ? (
        <div className="empty">
          <BellOff size={28} aria-hidden />
          <p>{t.empty}</p>
          <small>{t.emptyHint}</small>
        </div>
      ) : (
        <>
          <div className="notices-tools">
            <Button
              size="sm"
              kind="ghost"
              onClick={() => {
                for (const n of list) commands.dismissNotification(n.id);
              }}
            >
              {t.dismissAll}
            </Button>
          </div>
          <ul className="notices-list">
            {list.map((n) => (
              <Item key={n.id} notification={n} isNew={(n.since ?? 0) > readUntil} />
            ))}
          </ul>
        </>
      )}
    </Modal>
  );
}

function Item({ notification: n, isNew }: { notification: ShownNotification; isNew: boolean }): ReactNode {
  const t = useTexts(texts);
  const format = useFormat();
  const commands = useCommands();
  return (
    <li className="notices-item" data-notification-id={n.id}>
      <div className="notices-item-text">
        <h3>
          {isNew && <span className="notices-new">{t.new}</span>}
          {n.title}
        </h3>
        {n.body !== "" && <p>{n.body}</p>}
        <small>
          {n.since !== undefined && <time dateTime={new Date(n.since).toISOString()}>{format.moment(n.since)}</time>}
          {!!n.monitorId && (
            <button
              type="button"
              className="notices-monitor"
              onClick={() => {
                commands.showMonitor(n.monitorId!);
                commands.openPanel("");
              }}
            >
              {t.monitor(monitorNumber(n.monitorId))}
            </button>
          )}
        </small>
      </div>
      <IconButton icon={X} size={14} label={`${t.dismiss}: ${n.title}`} onClick={() => commands.dismissNotification(n.id)} />
    </li>
  );
}
