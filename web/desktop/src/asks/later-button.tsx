import { Inbox } from "lucide-react";
import type { ReactNode } from "react";
import { useTexts } from "../i18n/use.js";
import { asks as texts } from "../texts/asks.js";
import { Button } from "../ui/button.js";
import { Kbd } from "../ui/kbd.js";

/** Postpones a question. This answers nothing, so it needs no arming, but scripts cannot press it. */
export function LaterButton({ onLater }: { onLater: (() => void) | undefined }): ReactNode {
  const t = useTexts(texts);
  if (onLater === undefined) return null;
  return (
    <Button kind="ghost" icon={Inbox} className="asks-later" title={t.laterHint} aria-keyshortcuts="S" onClick={(e) => e.nativeEvent.isTrusted && onLater()}>
      {t.later}
      <Kbd combo="s" />
    </Button>
  );
}
