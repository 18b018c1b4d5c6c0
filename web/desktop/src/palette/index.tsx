import "./palette.css";
import { type ComponentType, type ReactNode, useContext, useEffect, useState } from "react";
import { ShellContext, useShell } from "../shell/context.js";
import { isTyping, onMac, useKeys } from "../ui/keys.js";
import { actionFor } from "./keys.js";

/** The palette, the help, and the keys that work everywhere. */
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
  const Body = useLater(() => import("./body.js"), panel === "palette");
  const Help = useLater(() => import("./help.js"), panel === "help");
  return (
    <>
      {panel === "palette" && Body !== undefined && <Body />}
      {panel === "help" && Help !== undefined && <Help />}
    </>
  );
}

type Loads = () => Promise<{ default: ComponentType }>;

/**
 * A part that the first page can do without. It is loaded soon after, so that it is there at once when it is wanted: what
 * is typed right after the shortcut of the palette is meant for it.
 */
function useLater(load: Loads, wanted: boolean): ComponentType | undefined {
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
