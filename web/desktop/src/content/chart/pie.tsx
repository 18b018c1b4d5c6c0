import type { ReactNode } from "react";
import { useShell } from "../../shell/context.js";
import { slicesOf } from "./model.js";
import type { PlotProps } from "./plot.js";
import { Tooltip } from "./tooltip.js";

/** The part of a pie from which its share is written on it. */
const leastWritten = 0.06;

export function Pie({ chart, size, visible, format, point, onPoint }: PlotProps): ReactNode {
  const language = useShell((s) => s.language);
  const percent = new Intl.NumberFormat(language, { style: "percent", maximumFractionDigits: 0 });
  const labels = chart.labels ?? [];
  const values = labels.map((_, n) => (visible.includes(n) ? (chart.series[0]?.values?.[n] ?? 0) : 0));
  const total = values.reduce((sum, v) => sum + v, 0);
  const cx = size.w / 2;
  const cy = size.h / 2;
  const outer = Math.max(20, Math.min(size.w, size.h) / 2 - 10);
  const inner = outer * 0.58;
  const slices = slicesOf(values, cx, cy, outer, inner);
  let before = 0;
  const middles = slices.map((s) => {
    const at = (before + s.part / 2 - 0.25) * 2 * Math.PI;
    before += s.part;
    return { x: cx + ((outer + inner) / 2) * Math.cos(at), y: cy + ((outer + inner) / 2) * Math.sin(at) };
  });
  return (
    <>
      <svg className="chart-svg" width={size.w} height={size.h} aria-hidden>
        {slices.map((s) => (
          <path key={s.index} className="chart-slice" data-series={s.index % 12} data-faint={(point !== undefined && point.index !== s.index) || undefined} d={s.path} onPointerMove={() => point?.index !== s.index && onPoint({ index: s.index })} />
        ))}
        {outer > 60 &&
          slices.map((s) =>
            s.part < leastWritten ? null : (
              <text key={s.index} className="chart-share" x={middles[s.index]!.x} y={middles[s.index]!.y + 4} textAnchor="middle">
                {percent.format(s.part)}
              </text>
            ),
          )}
        {inner > 34 && (
          <text className="chart-total" x={cx} y={cy + 7} textAnchor="middle">
            {format(total)}
          </text>
        )}
      </svg>
      {point !== undefined && slices[point.index] !== undefined && (
        <Tooltip
          title=""
          lines={[{ series: point.index, name: labels[point.index] ?? "", value: `${format(values[point.index] ?? 0)} · ${percent.format(slices[point.index]!.part)}` }]}
          x={middles[point.index]!.x}
          y={middles[point.index]!.y}
          size={size}
          announced={point.byKey === true}
        />
      )}
    </>
  );
}
