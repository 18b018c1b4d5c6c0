import { Check, Copy } from "lucide-react";
import { type ReactNode, useEffect, useState } from "react";
import { Button } from "../../../desktop/src/ui/button.js";

/** Copies a text and shows the result for a moment. */
export function CopyButton({ text, label, done, failed }: { text: () => string; label: string; done: string; failed: string }): ReactNode {
  const [result, setResult] = useState("");
  useEffect(() => {
    if (result === "") return;
    const timer = setTimeout(() => setResult(""), 1600);
    return () => clearTimeout(timer);
  }, [result]);
  const copy = (): void => {
    // The clipboard is unavailable in insecure contexts.
    const written = (navigator.clipboard as Clipboard | undefined)?.writeText(text()) ?? Promise.reject(new Error());
    written.then(
      () => setResult(done),
      () => setResult(failed),
    );
  };
  return (
    <Button size="sm" icon={result === done && result !== "" ? Check : Copy} onClick={copy} aria-live="polite">
      {result === "" ? label : result}
    </Button>
  );
}
