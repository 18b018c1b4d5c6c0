import { Check, Copy } from "lucide-react";
import { type ReactNode, useEffect, useState } from "react";
import { useTexts } from "../i18n/use.js";
import { useCommands } from "../shell/context.js";
import { ui as texts } from "../texts/entry.js";
import { Button, IconButton } from "./button.js";

interface CopyButtonProps {
  text: string | (() => string);
  label?: string;
  /** Whether the label is shown beside the icon. */
  wide?: boolean;
  size?: number;
  className?: string;
}

/** Copies a text and confirms it on the button for a moment. */
export function CopyButton({ text, label, wide = false, size = 14, className = "" }: CopyButtonProps): ReactNode {
  const t = useTexts(texts);
  const commands = useCommands();
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), 1600);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = async (): Promise<void> => {
    try {
      // The clipboard is unavailable in insecure contexts.
      await navigator.clipboard.writeText(typeof text === "string" ? text : text());
      setCopied(true);
    } catch {
      commands.notify(t.notCopied, "warning");
    }
  };
  const shown = copied ? t.copied : (label ?? t.copy);
  const icon = copied ? Check : Copy;
  if (!wide) return <IconButton icon={icon} size={size} className={className} label={shown} onClick={() => void copy()} />;
  return (
    <Button size="sm" icon={icon} className={className} onClick={() => void copy()} aria-live="polite">
      {shown}
    </Button>
  );
}
