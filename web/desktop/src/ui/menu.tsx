import { type ReactNode, useEffect, useId, useRef, useState } from "react";

interface MenuProps {
  /** The button that opens it; it gets what it must have to do so. */
  trigger: (props: MenuTrigger) => ReactNode;
  label: string;
  align?: "start" | "end";
  /** The items: `MenuItem`s, and whatever else belongs between them. They are given a way to close the menu. */
  children: (close: () => void) => ReactNode;
}

export interface MenuTrigger {
  onClick: () => void;
  "aria-haspopup": "menu";
  "aria-expanded": boolean;
  "aria-controls": string;
}

/** A popover with items that the arrow keys walk through. */
export function Menu({ trigger, label, align = "start", children }: MenuProps): ReactNode {
  const id = useId();
  const [open, setOpen] = useState(false);
  const anchor = useRef<HTMLSpanElement>(null);
  const list = useRef<HTMLDivElement>(null);

  useEffect(() => {
    const pop = list.current;
    if (!open || pop === null) return;
    pop.showPopover();
    place(pop, anchor.current!, align);
    items(pop)[0]?.focus();
    const toggled = (e: Event): void => {
      if ((e as ToggleEvent).newState === "closed") setOpen(false);
    };
    pop.addEventListener("toggle", toggled);
    return () => pop.removeEventListener("toggle", toggled);
  }, [open, align]);

  const close = (): void => {
    list.current?.hidePopover();
    setOpen(false);
    anchor.current?.querySelector("button")?.focus();
  };
  return (
    <span ref={anchor} className="menu-anchor">
      {trigger({ onClick: () => (open ? close() : setOpen(true)), "aria-haspopup": "menu", "aria-expanded": open, "aria-controls": id })}
      {open && (
        <div
          ref={list}
          id={id}
          popover="auto"
          role="menu"
          aria-label={label}
          className="menu"
          onKeyDown={(e) => {
            const all = items(e.currentTarget);
            const at = all.indexOf(document.activeElement as HTMLElement);
            const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[e.key];
            if (e.key === "Tab" || e.key === "Escape") {
              e.preventDefault();
              e.stopPropagation();
              close();
            } else if (to !== undefined) {
              e.preventDefault();
              all[(to + all.length) % all.length]?.focus();
            }
          }}
        >
          {children(close)}
        </div>
      )}
    </span>
  );
}

function items(of: HTMLElement): HTMLElement[] {
  return [...of.querySelectorAll<HTMLElement>("[role^=menuitem]:not([disabled])")];
}

function place(pop: HTMLElement, anchor: HTMLElement, align: "start" | "end"): void {
  const a = anchor.getBoundingClientRect();
  const p = pop.getBoundingClientRect();
  const below = a.bottom + 4 + p.height <= innerHeight || a.top < p.height;
  const x = align === "start" ? a.left : a.right - p.width;
  pop.style.left = `${Math.max(8, Math.min(x, innerWidth - p.width - 8))}px`;
  pop.style.top = `${below ? a.bottom + 4 : a.top - p.height - 4}px`;
}

interface MenuItemProps {
  onSelect: () => void;
  icon?: ReactNode;
  hint?: ReactNode;
  /** For choices: whether this one is made. */
  checked?: boolean;
  disabled?: boolean;
  danger?: boolean;
  children: ReactNode;
}

export function MenuItem({ onSelect, icon, hint, checked, disabled, danger = false, children }: MenuItemProps): ReactNode {
  return (
    <button
      type="button"
      role={checked === undefined ? "menuitem" : "menuitemradio"}
      aria-checked={checked}
      disabled={disabled}
      className={danger ? "menu-item menu-item-danger" : "menu-item"}
      onClick={onSelect}
    >
      <span className="menu-item-icon">{icon}</span>
      <span className="menu-item-text">{children}</span>
      {hint !== undefined && <span className="menu-item-hint">{hint}</span>}
    </button>
  );
}
