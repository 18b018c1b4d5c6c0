import type { ReactNode } from "react";

interface TooltipProps {
  title: string;
  lines: readonly { series: number; name: string; value: string }[];
  x: number;
  y: number;
  /** The size of the chart, inside which the tooltip stays. */
  size: { w: number; h: number };
  /** Whether the keyboard moved to the point, so that it is read out. */
  announced: boolean;
}

/** The values at a point of a chart. */
export function Tooltip({ title, lines, x, y, size, announced }: TooltipProps): ReactNode {
  const right = x > size.w / 2;
  const side = right ? { right: Math.max(0, size.w - x + 14) } : { left: Math.max(0, x + 14) };
  const height = y > size.h / 2 ? { bottom: Math.max(0, size.h - y) } : { top: Math.max(0, y) };
  return (
    <div className="chart-tip" style={{ ...side, ...height }} role={announced ? "status" : undefined}>
      {title !== "" && <strong>{title}</strong>}
      {lines.map((line, n) => (
        <span key={n} className="chart-tip-line">
          <span className="chart-swatch" data-series={line.series % 12} aria-hidden />
          <span>{line.name}</span> <span className="chart-value">{line.value}</span>
        </span>
      ))}
    </div>
  );
}
