import { ChevronRight, type LucideIcon } from "lucide-react";
import { type ReactNode, useEffect, useId, useState } from "react";

interface Props {
  icon: LucideIcon;
  tone?: "danger" | "success";
  title: ReactNode;
  /** At the end of the line. */
  end?: ReactNode;
  /** What is below the line while it is closed. */
  closed?: ReactNode;
  /** Somebody was led here: it opens, and can be closed again. */
  found?: boolean;
  children: ReactNode;
}

/** One line that opens. What is inside is not made before. */
export function Fold({ icon: Icon, tone, title, end, closed, found = false, children }: Props): ReactNode {
  const [open, setOpen] = useState(found);
  useEffect(() => {
    if (found) setOpen(true);
  }, [found]);
  const id = useId();
  return (
    <div className="drawer-fold">
      <button type="button" className="drawer-fold-line" aria-expanded={open} aria-controls={open ? id : undefined} onClick={() => setOpen(!open)}>
        <ChevronRight size={12} aria-hidden className="drawer-chevron" />
        <Icon size={14} aria-hidden className={tone === undefined ? undefined : `drawer-${tone}`} />
        <span className="drawer-fold-title">{title}</span>
        {end}
      </button>
      {open ? (
        <div id={id} className="drawer-fold-body">
          {children}
        </div>
      ) : (
        closed
      )}
    </div>
  );
}
