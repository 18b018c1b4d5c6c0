import "./palette.css";
import { type ComponentType, type ReactNode, useContext, useEffect, useState } from "react";
import { ShellContext, useShell } from "../shell/context.js";
import { isTyping, onMac, useKeys } from "../ui/keys.js";
import { actionFor } from "./keys.js";

/** The palette, the help, and the shortcuts that work everywhere. */
export function Palette(): ReactNode {
  const panel = useShell((s) => s.panel);
  const { store, commands } = useContext(ShellContext)!;
  useKeys((e) => {
    const inModal = document.querySelector("dialog:modal") !== null;
    const action = actionFor(e, { typing: isTyping(e), inModal, onMac });
    if (action === undefined || !action.when(store.getState())) return false;
    action.run(commands, store.getState());
    return true;
  });
  const Body = usePreloaded(() => import("./body.js"), panel === "palette");
  const Help = usePreloaded(() => import("./help.js"), panel === "help");
  return (
    <>
      {panel === "palette" && Body !== undefined && <Body />}
      {panel === "help" && Help !== undefined && <Help />}
    </>
  );
}

type Loader = () => Promise<{ default: ComponentType }>;

/**
 * A component that the first paint does not need. It is loaded soon after, so that it is ready when it is opened: text
 * typed right after the shortcut of the palette must go into it.
 */
function usePreloaded(load: Loader, wanted: boolean): ComponentType | undefined {
  const [part, setPart] = useState<ComponentType>();
  const missing = part === undefined;
  useEffect(() => {
    if (!missing) return;
    const begin = (): void => void load().then(({ default: loaded }) => setPart(() => loaded), () => undefined);
    const timer = setTimeout(begin, wanted ? 0 : 500);
    return () => clearTimeout(timer);
  }, [missing, wanted]);
  return part;
}
