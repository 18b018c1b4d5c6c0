import { Check, Copy } from "lucide-react";
import { type ReactNode, useEffect, useState } from "react";
import { Button } from "../../../desktop/src/ui/button.js";

/** Copies a text, and says for a moment that it did, or that it could not. */
export function CopyButton({ text, label, done, failed }: { text: () => string; label: string; done: string; failed: string }): ReactNode {
  const [said, setSaid] = useState("");
  useEffect(() => {
    if (said === "") return;
    const timer = setTimeout(() => setSaid(""), 1600);
    return () => clearTimeout(timer);
  }, [said]);
  const copy = (): void => {
    // Pages that are not secure have no clipboard.
    const written = (navigator.clipboard as Clipboard | undefined)?.writeText(text()) ?? Promise.reject(new Error());
    written.then(
      () => setSaid(done),
      () => setSaid(failed),
    );
  };
  return (
    <Button size="sm" icon={said === done && said !== "" ? Check : Copy} onClick={copy} aria-live="polite">
      {said === "" ? label : said}
    </Button>
  );
}
