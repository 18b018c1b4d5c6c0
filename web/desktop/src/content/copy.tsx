import { Check, Copy } from "lucide-react";
import { type ReactNode, useEffect, useState } from "react";
import { useWords } from "../i18n/use.js";
import { IconButton } from "../ui/button.js";
import texts from "./words.js";

/** Copies a text, and says for a moment that it did. */
export function CopyButton({ text, label }: { text: () => string; label: string }): ReactNode {
  const t = useWords(texts);
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), 1600);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = async (): Promise<void> => {
    await navigator.clipboard?.writeText(text());
    setCopied(navigator.clipboard !== undefined);
  };
  return <IconButton icon={copied ? Check : Copy} size={14} label={copied ? t.copied : label} onClick={() => void copy().catch(() => undefined)} />;
}
