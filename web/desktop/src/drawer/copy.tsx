import { Check, Copy } from "lucide-react";
import { type ReactNode, useEffect, useState } from "react";
import { useWords } from "../i18n/use.js";
import { useCommands } from "../shell/context.js";
import { IconButton } from "../ui/button.js";
import texts from "./words.js";

/** Copies a text. It is seen when its row is pointed at or has the focus. */
export function CopyButton({ text }: { text: string }): ReactNode {
  const t = useWords(texts);
  const commands = useCommands();
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), 1500);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = (): void => {
    // Pages that are not secure have no clipboard.
    const done = navigator.clipboard?.writeText(text) ?? Promise.reject(new Error("no clipboard"));
    done.then(
      () => setCopied(true),
      () => commands.tell(t.notCopied, "warning"),
    );
  };
  return <IconButton icon={copied ? Check : Copy} size={13} className="drawer-copy" label={copied ? t.copied : t.copy} onClick={copy} />;
}
