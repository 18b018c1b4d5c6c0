import { ChevronRight, type LucideIcon } from "lucide-react";
import { type ReactNode, useEffect, useId, useState } from "react";

interface Props {
  icon: LucideIcon;
  tone?: "danger" | "success";
  title: ReactNode;
  /** The element at the end of the line. */
  end?: ReactNode;
  /** The element below the line while it is collapsed. */
  closed?: ReactNode;
  /** Whether the user was led here: the line expands, and can be collapsed again. */
  found?: boolean;
  children: ReactNode;
}

/** A line that expands. Its content is not rendered before. */
export function Collapsible({ icon: Icon, tone, title, end, closed, found = false, children }: Props): ReactNode {
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
