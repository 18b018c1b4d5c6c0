import type { LucideIcon } from "lucide-react";
import type { ReactNode } from "react";

/** Says in a window why it shows something else than it should, and what can be done. */
export function Card({ icon: Icon, title, children }: { icon: LucideIcon; title: string; children?: ReactNode }): ReactNode {
  return (
    <div className="content-card" role="note">
      <Icon size={24} aria-hidden className="content-card-icon" />
      <p className="content-card-title">{title}</p>
      {children}
    </div>
  );
}
