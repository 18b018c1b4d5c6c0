import type { ReactNode } from "react";
import { useTexts } from "../i18n/use.js";
import { topbar as texts } from "../texts/entry.js";

/** The logo: two overlapping windows. */
export function Logo({ size = 20 }: { size?: number }): ReactNode {
  const t = useTexts(texts);
  return (
    <svg className="topbar-mark" viewBox="0 0 24 24" width={size} height={size} role="img" aria-label={t.product}>
      <rect className="topbar-mark-back" x="2" y="3.5" width="13" height="11" rx="2.5" />
      <rect className="topbar-mark-front" x="9" y="9.5" width="13" height="11" rx="2.5" />
    </svg>
  );
}
