import type { ReactNode } from "react";

/** A small desktop on which windows are made, as a picture of what Everdesk does. It stands still under reduced motion. */
export function LivingDesktop(): ReactNode {
  return (
    <div className="tour-scene wall-aurora" aria-hidden>
      <div className="tour-scene-window tour-scene-note">
        <i className="kind kind-1" />
        <b />
        <b />
        <b />
      </div>
      <div className="tour-scene-window tour-scene-chart">
        <i className="kind kind-5" />
        <span>
          {[42, 64, 50, 86, 72].map((h, i) => (
            <u key={h} style={{ height: `${h}%`, animationDelay: `${1.3 + i * 0.12}s` }} />
          ))}
        </span>
      </div>
      <div className="tour-scene-window tour-scene-tasks">
        <i className="kind kind-4" />
        {[0, 1, 2].map((i) => (
          <em key={i}>
            <s style={{ animationDelay: `${2.2 + i * 0.5}s` }} />
            <b />
          </em>
        ))}
      </div>
      <div className="tour-scene-bar">
        <b />
        <s />
      </div>
    </div>
  );
}
