import { type ReactNode, useEffect, useRef } from "react";
import { hasEnded } from "../../../core/src/index.js";
import { useTexts } from "../i18n/use.js";
import { useCommands, useShell } from "../shell/context.js";
import { tour as texts } from "../texts/tour.js";
import { useAgentStep, useToured } from "./progress.js";
import { shapeOf } from "./steps.js";
import { Examples, isFresh } from "./suggestions.js";
import { Welcome } from "./welcome.js";

/** The tour on a phone: the welcome or a few suggestions, and `children` once the conversation has begun. */
export function Start({ children }: { children: ReactNode }): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const show = useAgentStep(() => undefined);
  const ready = useShell((s) => s.ready);
  const provider = useShell((s) => s.desktop.provider || s.hub.provider);
  const fresh = useShell(isFresh);
  const pinned = useShell((s) => s.view.pinned);
  const toured = useToured();
  const wanted = useShell((s) => s.tour);
  const pending = useShell((s) => s.outbox.items.findLast((i) => i.type === "USER_MESSAGE" && !hasEnded(i))?.id ?? "");
  const known = useRef(pending);
  // After sending a message the user wants to see the answer, so the tour closes.
  useEffect(() => {
    if (wanted && pending !== "" && pending !== known.current) commands.showTour(false);
    known.current = pending;
  }, [wanted, pending, commands]);
  // There is no checklist on a phone: a requested tour shows the welcome again.
  const shape = shapeOf({ ready, provider, fresh, pinned, toured, wanted, begun: false });
  if (shape === "examples") return <Examples />;
  if (shape === "none") return children;
  return (
    <Welcome
      onShow={(step) => {
        if (show(step) && step === "background") commands.notify(t.elsewhere, "info", 8000);
      }}
    />
  );
}
