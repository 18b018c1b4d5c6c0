import { Check } from "lucide-react";
import { type ReactNode, useEffect, useId, useRef, useState } from "react";

interface MenuProps {
  /** Renders the button that opens the menu, with the given props. */
  trigger: (props: MenuTrigger) => ReactNode;
  label: string;
  align?: "start" | "end";
  /** Renders the items: `MenuItem`s and anything between them. `close` closes the menu. */
  children: (close: () => void) => ReactNode;
}

export interface MenuTrigger {
  onClick: () => void;
  "aria-haspopup": "menu";
  "aria-expanded": boolean;
  "aria-controls": string;
}

/** A button that opens a menu. */
export function Menu({ trigger, label, align = "start", children }: MenuProps): ReactNode {
  const id = useId();
  const [open, setOpen] = useState(false);
  const anchor = useRef<HTMLSpanElement>(null);
  const close = (): void => {
    setOpen(false);
    anchor.current?.querySelector("button")?.focus();
  };
  return (
    <span ref={anchor} className="menu-anchor">
      {trigger({ onClick: () => (open ? close() : setOpen(true)), "aria-haspopup": "menu", "aria-expanded": open, "aria-controls": id })}
      {open && (
        <MenuList id={id} label={label} place={(list) => beside(anchor.current!, list, align)} onClosed={(back) => (back ? close() : setOpen(false))}>
          {children(close)}
        </MenuList>
      )}
    </span>
  );
}

/**
 * Runs act when no button of the mouse is pressed: on some systems the context menu is requested while the button is down, and
 * its release would close the menu again.
 */
export function onceReleased({ buttons }: { buttons: number }, act: () => void): void {
  if (buttons === 0) act();
  else addEventListener("mouseup", act, { once: true });
}

interface MenuListProps {
  id?: string;
  label: string;
  /** Returns the position for a list of the given size. */
  place: (list: DOMRect) => { x: number; y: number };
  /** Called when the menu closes; true if the focus returns to the opener. */
  onClosed: (back: boolean) => void;
  children: ReactNode;
}

/** A popover with items; the arrow keys move through them. */
export function MenuList({ id, label, place, onClosed, children }: MenuListProps): ReactNode {
  const list = useRef<HTMLDivElement>(null);
  const latest = useRef({ place, onClosed });
  latest.current = { place, onClosed };
  useEffect(() => {
    const pop = list.current!;
    pop.showPopover();
    const box = pop.getBoundingClientRect();
    const { x, y } = latest.current.place(box);
    pop.style.left = `${Math.max(edge, Math.min(x, innerWidth - box.width - edge))}px`;
    pop.style.top = `${Math.max(edge, Math.min(y, innerHeight - box.height - edge))}px`;
    items(pop)[0]?.focus();
    const toggled = (e: Event): void => {
      if ((e as ToggleEvent).newState === "closed") latest.current.onClosed(false);
    };
    pop.addEventListener("toggle", toggled);
    return () => pop.removeEventListener("toggle", toggled);
  }, []);
  return (
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
          onClosed(true);
        } else if (to !== undefined) {
          e.preventDefault();
          all[(to + all.length) % all.length]?.focus();
        }
      }}
    >
      {children}
    </div>
  );
}

/** The minimum distance of a menu from the edge of the page, in px. */
const edge = 8;

function items(of: HTMLElement): HTMLElement[] {
  return [...of.querySelectorAll<HTMLElement>("[role^=menuitem]:not([disabled])")];
}

/** The position below the anchor, or above it if there is no room. */
function beside(anchor: HTMLElement, list: DOMRect, align: "start" | "end"): { x: number; y: number } {
  const a = anchor.getBoundingClientRect();
  const below = a.bottom + 4 + list.height <= innerHeight || a.top < list.height;
  return { x: align === "start" ? a.left : a.right - list.width, y: below ? a.bottom + 4 : a.top - list.height - 4 };
}

interface MenuItemProps {
  onSelect: () => void;
  icon?: ReactNode;
  hint?: ReactNode;
  /** For a choice: whether it is selected. */
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
      {checked === true && <Check size={14} aria-hidden />}
      {hint !== undefined && <span className="menu-item-hint">{hint}</span>}
    </button>
  );
}
