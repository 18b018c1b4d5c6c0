import { Check, Copy } from "lucide-react";
import { type ReactNode, useEffect, useState } from "react";
import { useWords } from "../i18n/use.js";
import { useCommands } from "../shell/context.js";
import { Button } from "../ui/button.js";
import texts from "./words.js";

/** Copies a text, and says so where it was pressed. */
export function CopyButton({ text, label }: { text: string; label?: string }): ReactNode {
  const t = useWords(texts);
  const commands = useCommands();
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), 2000);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      setCopied(true);
    } catch {
      commands.tell(t.copyFailed, "warning");
    }
  };
  return (
    <Button size="sm" icon={copied ? Check : Copy} onClick={() => void copy()} aria-live="polite">
      {copied ? t.copied : (label ?? t.copy)}
    </Button>
  );
}

/** Lines for a terminal, with a way to copy them. */
export function Command({ lines }: { lines: string }): ReactNode {
  return (
    <div className="sessions-command">
      <pre tabIndex={0}>{lines}</pre>
      <CopyButton text={lines} />
    </div>
  );
}
