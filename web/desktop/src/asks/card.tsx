import { ChevronLeft, ChevronRight, ShieldQuestion } from "lucide-react";
import { type ReactNode, useEffect, useId, useRef, useState } from "react";
import { createPortal } from "react-dom";
import { useTexts } from "../i18n/use.js";
import { asks as texts } from "../texts/asks.js";
import { Button, IconButton } from "../ui/button.js";
import { useArmed } from "./arming.js";
import { titleOf } from "./facts.js";
import { type Ask, adjacentAsk, versionOf } from "./order.js";
import { useCardHost, useTopLayer } from "./toplayer.js";
import { AskView } from "./view.js";

interface CardProps {
  ask: Ask;
  /** All questions that were not postponed. */
  asks: readonly Ask[];
  /** Whether only the band is shown, because the palette is open. */
  folded: boolean;
  onUnfold: () => void;
  onShow: (key: string) => void;
  onLater: (key: string) => void;
}

/** The card of the question in front. It overlaps the edge of the top bar, where no window can be. */
export function Card({ ask, asks, folded, onUnfold, onShow, onLater }: CardProps): ReactNode {
  const t = useTexts(texts);
  const host = useCardHost();
  const [card, setCard] = useState<HTMLDialogElement | null>(null);
  const version = versionOf(ask);
  const armed = useArmed(folded ? "" : version);
  const title = useId();
  useTopLayer(host, card, true);
  useCardFocus(card, folded ? "" : ask.key);

  const step = (by: 1 | -1): void => onShow(adjacentAsk(asks, ask.key, by)?.key ?? ask.key);
  return createPortal(
    <dialog
      ref={setCard}
      popover="manual"
      role="alertdialog"
      aria-labelledby={title}
      aria-modal={false}
      className={isReview(ask) ? "asks-card asks-card-wide" : "asks-card"}
      data-ask-id={ask.id}
      data-armed={armed}
      data-region="ask"
      tabIndex={-1}
      onKeyDown={(e) => {
        if (e.key !== "Escape" || !e.nativeEvent.isTrusted) return;
        e.preventDefault();
        e.stopPropagation();
        onLater(ask.key);
      }}
    >
      <div className="asks-band">
        <ShieldQuestion size={16} aria-hidden />
        <span className="asks-band-name">{t.asks}</span>
        {folded && (
          <>
            <span className="asks-band-title">{titleOf(ask, t)}</span>
            <Button size="sm" onClick={onUnfold}>
              {t.show}
            </Button>
          </>
        )}
        {asks.length > 1 && !folded && (
          <span className="asks-band-steps">
            <IconButton icon={ChevronLeft} label={t.previous} onClick={() => step(-1)} />
            <span aria-live="polite">{t.place(asks.indexOf(ask) + 1, asks.length)}</span>
            <IconButton icon={ChevronRight} label={t.next} onClick={() => step(1)} />
          </span>
        )}
      </div>
      <div hidden={folded} className="asks-card-body">
        <AskView key={version} ask={ask} armed={armed} titleId={title} onLater={() => onLater(ask.key)} />
      </div>
    </dialog>,
    host,
  );
}

/** Whether the question shows the graph of a plan, which needs a wider card. */
function isReview(ask: Ask): boolean {
  return ask.kind === "plan" && ask.request.type === "hitl_plan_review";
}

/**
 * Moves the focus to a new question and returns it when the card closes. It leaves the focus alone while the user types
 * or uses an app.
 */
function useCardFocus(card: HTMLDialogElement | null, key: string): void {
  const before = useRef<Element | null>(null);
  useEffect(() => {
    if (card === null || key === "") return;
    const at = document.activeElement;
    if (!card.contains(at)) before.current = at;
    const busy = at instanceof HTMLElement && (at.isContentEditable || at.matches("input, textarea, select, iframe"));
    if (!busy || card.contains(at)) (card.querySelector<HTMLElement>("[data-first]") ?? card.querySelector<HTMLElement>(".asks-view"))?.focus({ preventScroll: true });
  }, [card, key]);
  useEffect(() => {
    if (card === null) return;
    return () => {
      const lost = document.activeElement === null || document.activeElement === document.body || card.contains(document.activeElement);
      if (lost && before.current instanceof HTMLElement) before.current.focus({ preventScroll: true });
    };
  }, [card]);
}
