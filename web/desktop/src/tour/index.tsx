import "../launcher/launcher.css";
import "./tour.css";
import type { ReactNode } from "react";
import { useShell } from "../shell/context.js";
import { Checklist } from "./checklist.js";
import { useAgentStep, useProgress, useToured } from "./progress.js";
import { hasBegun, shapeOf } from "./steps.js";
import { Examples, isFresh } from "./suggestions.js";
import { Welcome } from "./welcome.js";

export { Start } from "./start.js";

/** The parts of the tour on the canvas: a welcome, then a checklist; on an empty desktop a few suggestions. */
export function Tour(): ReactNode {
  const [progress, change] = useProgress();
  const show = useAgentStep(change);
  const ready = useShell((s) => s.ready);
  const provider = useShell((s) => s.desktop.provider || s.hub.provider);
  const fresh = useShell(isFresh);
  const pinned = useShell((s) => s.view.pinned);
  const toured = useToured();
  const wanted = useShell((s) => s.tour);
  const shape = shapeOf({ ready, provider, fresh, pinned, toured, wanted, begun: hasBegun(progress, fresh) });
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
