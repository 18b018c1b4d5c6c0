import { type ReactNode, useEffect, useRef } from "react";
import { hasEnded } from "../../../core/src/index.js";
import { useTexts } from "../i18n/use.js";
import { useCommands, useShell } from "../shell/context.js";
import { tour as texts } from "../texts/parts.js";
import { Examples, isFresh } from "./ideas.js";
import { useShowing } from "./progress.js";
import { shapeOf } from "./steps.js";
import { Welcome } from "./welcome.js";

/** What begins a conversation where there is no room beside it: the welcome or a few ideas, and `children` once it has begun. */
export function Start({ children }: { children: ReactNode }): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const show = useShowing(() => undefined);
  const ready = useShell((s) => s.ready);
  const provider = useShell((s) => s.desktop.provider || s.hub.provider);
  const fresh = useShell(isFresh);
  const pinned = useShell((s) => s.view.pinned);
  const toured = useShell((s) => s.prefs.toured);
  const wanted = useShell((s) => s.tour);
  const said = useShell((s) => s.outbox.items.findLast((i) => i.type === "USER_MESSAGE" && !hasEnded(i))?.id ?? "");
  const known = useRef(said);
  // Who says something wants to see what becomes of it.
  useEffect(() => {
    if (wanted && said !== "" && said !== known.current) commands.showTour(false);
    known.current = said;
  }, [wanted, said, commands]);
  // There is no checklist here: who asks for the tour gets the welcome again.
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
