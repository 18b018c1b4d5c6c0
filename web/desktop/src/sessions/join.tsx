import { RefreshCw, WifiOff } from "lucide-react";
import { type ReactNode, useCallback, useEffect, useState } from "react";
import { useTexts } from "../i18n/use.js";
import { useNow } from "../shell/clock.js";
import { useCommands, useShell } from "../shell/context.js";
import { sessions as texts } from "../texts/sessions.js";
import { Button } from "../ui/button.js";
import { CopyButton } from "../ui/copy.js";
import { Modal } from "../ui/modal.js";
import { Ring } from "../ui/ring.js";
import { Command } from "./command.js";
import { type Bar, barsOf } from "./qr.js";

interface Code {
  readonly url: string;
  readonly bars: readonly Bar[];
  readonly size: number;
  readonly loopback: boolean;
  readonly from: number;
  readonly until: number;
}

type State = { type: "making" } | { type: "failed"; reason: string } | { type: "ready"; code: Code };

/** A QR code that opens the session on a phone. It works once and expires soon. */
export function JoinPanel(): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const session = useShell((s) => s.session);
  // A tab that is pinned to a monitor invites to that monitor only.
  const monitor = useShell((s) => (s.view.pinned ? s.view.monitor : undefined));
  const [state, setState] = useState<State>({ type: "making" });
  const make = useCallback(async (): Promise<void> => {
    setState({ type: "making" });
    try {
      const [ticket, { encode }] = await Promise.all([commands.api.joinTicket(session, monitor), import("uqr")]);
      const { data, size } = encode(ticket.url, { ecc: "M", border: 2 });
      const from = Date.now();
      const until = from + ticket.expiresIn * 1000;
      setState({ type: "ready", code: { url: ticket.url, bars: barsOf(data), size, loopback: ticket.loopback, from, until } });
    } catch (error) {
      setState({ type: "failed", reason: error instanceof Error ? error.message : String(error) });
    }
  }, [commands, session, monitor]);
  useEffect(() => void make(), [make]);
  return (
    <Modal title={t.join} closeLabel={t.close} onClose={() => commands.openPanel("")}>
      <div className="sessions-join">
        {state.type === "making" && <p role="status">{t.making}</p>}
        {state.type === "failed" && (
          <div role="alert" className="sessions-failed">
            <p>{t.failed(state.reason)}</p>
            <Button icon={RefreshCw} onClick={() => void make()}>
              {t.again}
            </Button>
          </div>
        )}
        {state.type === "ready" && <Ready code={state.code} onRenew={() => void make()} />}
      </div>
    </Modal>
  );
}

function Ready({ code, onRenew }: { code: Code; onRenew: () => void }): ReactNode {
  const t = useTexts(texts);
  const now = useNow(500);
  const left = Math.max(0, Math.ceil((code.until - now) / 1000));
  const expired = left === 0;
  // A phone cannot use the address of a loopback, so that there is no code to scan. Another browser on this computer can.
  if (code.loopback) {
    return (
      <>
        <LoopbackWarning />
        {!expired && (
          <p>
            {t.hereOnly} <CopyButton text={code.url} label={t.copyLink} wide />
          </p>
        )}
      </>
    );
  }
  return (
    <>
      <p>{t.joinHint}</p>
      <div className={expired ? "sessions-qr sessions-qr-over" : "sessions-qr"}>
        <svg viewBox={`0 0 ${code.size} ${code.size}`} role="img" aria-label={t.code} shapeRendering="crispEdges">
          {code.bars.map((b) => (
            <rect key={`${b.x},${b.y}`} x={b.x} y={b.y} width={b.width} height={1} />
          ))}
        </svg>
        {expired && (
          <Button kind="primary" icon={RefreshCw} onClick={onRenew}>
            {t.anew}
          </Button>
        )}
      </div>
      <div className="sessions-join-foot">
        <Ring part={(code.until - now) / (code.until - code.from)} size={18} tone={left < 20 ? "warning" : "accent"} label={t.left(left)} />
        <span className="sessions-left">{expired ? t.over : t.left(left)}</span>
        {!expired && <CopyButton text={code.url} label={t.copyLink} wide />}
        {!expired && (
          <Button size="sm" icon={RefreshCw} onClick={onRenew}>
            {t.anew}
          </Button>
        )}
      </div>
    </>
  );
}

/** The port of the hub. An address without one has that of its scheme. */
export function portOf({ port, protocol }: Pick<Location, "port" | "protocol">): string {
  return port || (protocol === "https:" ? "443" : "80");
}

/** The warning that phones cannot reach a loopback address. */
function LoopbackWarning(): ReactNode {
  const t = useTexts(texts);
  return (
    <section className="sessions-warning" aria-label={t.loopback}>
      <h3>
        <WifiOff size={16} aria-hidden />
        {t.loopback}
      </h3>
      <p>{t.loopbackHint}</p>
      <Command lines={`hub serve --addr 0.0.0.0:${portOf(location)} --hosts 192.168.0.10`} />
      <p>{t.loopbackCare}</p>
    </section>
  );
}
