import type { ReactNode } from "react";

/** A ring that is filled to a fraction, for deadlines and budgets. */
export function Ring({ part, size = 16, label, tone = "accent" }: { part: number; size?: number; label: string; tone?: "accent" | "warning" | "danger" }): ReactNode {
  const r = size / 2 - 1.5;
  const circumference = 2 * Math.PI * r;
  const full = Math.min(1, Math.max(0, part));
  return (
    <svg className={`ring ring-${tone}`} width={size} height={size} role="img" aria-label={label}>
      <circle className="ring-back" cx={size / 2} cy={size / 2} r={r} />
      <circle
        className="ring-front"
        cx={size / 2}
        cy={size / 2}
        r={r}
        strokeDasharray={`${circumference * full} ${circumference}`}
        transform={`rotate(-90 ${size / 2} ${size / 2})`}
      />
    </svg>
  );
}
