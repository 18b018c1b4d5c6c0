import type { ReactNode } from "react";
import { type Combo, onMac } from "./keys.js";

const names: Record<string, string> = { mod: onMac ? "⌘" : "Ctrl", ctrl: "Ctrl", alt: onMac ? "⌥" : "Alt", shift: "⇧", enter: "↵", escape: "Esc", arrowup: "↑", arrowdown: "↓", arrowleft: "←", arrowright: "→", arrows: "← ↑ ↓ →", backquote: "`" };

/** A keyboard shortcut, as on the keyboard. */
export function Kbd({ combo }: { combo: Combo }): ReactNode {
  return (
    <span className="kbd">
      {combo.split("+").map((part) => (
        <kbd key={part}>{names[part.toLowerCase()] ?? part.toUpperCase()}</kbd>
      ))}
    </span>
  );
}
