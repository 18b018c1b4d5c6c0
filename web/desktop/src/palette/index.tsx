import "./palette.css";
import { lazy, type ReactNode, Suspense, useContext, useEffect } from "react";
import { useShell, WorkbenchContext } from "../shell/context.js";
import { isTyping, onMac, useKeys } from "../ui/keys.js";
import { actionFor } from "./keys.js";

const load = (): Promise<typeof import("./body.js")> => import("./body.js");
const Body = lazy(load);
const Help = lazy(() => import("./help.js"));

/** The palette, the help, and the keys that work everywhere. */
export function Palette(): ReactNode {
  const panel = useShell((s) => s.panel);
  const { store, commands } = useContext(WorkbenchContext)!;
  useKeys((e) => {
    const inModal = document.querySelector("dialog:modal") !== null;
    const action = actionFor(e, { typing: isTyping(e), inModal, onMac });
    if (action === undefined || !action.when(store.getState())) return false;
    action.run(commands, store.getState());
    return true;
  });
  // What is typed right after the shortcut must reach the palette, so it is there before it is wanted.
  useEffect(() => {
    const timer = setTimeout(() => void load().catch(() => undefined), 1_500);
    return () => clearTimeout(timer);
  }, []);
  return (
    <Suspense fallback={null}>
      {panel === "palette" && <Body />}
      {panel === "help" && <Help />}
    </Suspense>
  );
}
