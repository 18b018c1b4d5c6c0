import type { LucideIcon } from "lucide-react";
import type { ReactNode } from "react";

/** Explains why a window cannot show its content, and what the user can do. */
export function Card({ icon: Icon, title, children }: { icon: LucideIcon; title: string; children?: ReactNode }): ReactNode {
  return (
    <div className="content-card" role="note" tabIndex={0} aria-label={title}>
      <Icon size={24} aria-hidden className="content-card-icon" />
      <p className="content-card-title">{title}</p>
      {children}
    </div>
  );
}
