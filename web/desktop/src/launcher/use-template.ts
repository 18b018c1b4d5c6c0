import { useContext } from "react";
import { useTexts } from "../i18n/use.js";
import { ShellContext } from "../shell/context.js";
import { useMonitor } from "../shell/select.js";
import { launcher as texts } from "../texts/launcher.js";
import { openTemplate } from "./open-template.js";
import type { TemplateID } from "./templates.js";

/** Returns a function that opens a template on the monitor that this tab shows. */
export function useTemplate(): (id: TemplateID) => void {
  const t = useTexts(texts);
  const { store, commands } = useContext(ShellContext)!;
  const monitor = useMonitor();
  return (id) => {
    const warn = (): void => commands.notify(t.notOpened, "warning");
    openTemplate(id, commands, store.getState(), monitor).then((taken) => taken || warn(), warn);
  };
}
