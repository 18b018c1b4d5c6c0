import { ChevronDown } from "lucide-react";
import { type ReactNode, useState } from "react";
import { useTexts } from "../i18n/use.js";
import { drawer as texts } from "../texts/drawer.js";
import { Button } from "../ui/button.js";

/** Whether a text is so long that it hides the conversation around it. */
export function isLong(text: string, characters: number, lines: number): boolean {
  return text.length > characters || text.split("\n", lines + 1).length > lines;
}

/** A long text. Its beginning is shown until the user asks for the rest, or follows a link into it. */
export function LongText({ long, found, children }: { long: boolean; found: boolean; children: ReactNode }): ReactNode {
  const t = useTexts(texts);
  const [open, setOpen] = useState(false);
  if (!long || open || found) return children;
  return (
    <div className="drawer-long">
      <div className="drawer-long-part">{children}</div>
      <Button size="sm" kind="ghost" icon={ChevronDown} onClick={() => setOpen(true)}>
        {t.showAll}
      </Button>
    </div>
  );
}
