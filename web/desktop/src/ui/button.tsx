import type { LucideIcon } from "lucide-react";
import type { ButtonHTMLAttributes, ReactNode, Ref } from "react";

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  kind?: "primary" | "secondary" | "ghost" | "danger";
  size?: "sm" | "md";
  icon?: LucideIcon;
  children: ReactNode;
  ref?: Ref<HTMLButtonElement>;
}

export function Button({ kind = "secondary", size = "md", icon: Icon, children, className = "", ...rest }: ButtonProps): ReactNode {
  return (
    <button type="button" className={`button button-${kind} button-${size} ${className}`} {...rest}>
      {Icon !== undefined && <Icon size={size === "sm" ? 14 : 16} aria-hidden />}
      {children}
    </button>
  );
}

interface IconButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  icon: LucideIcon;
  /** The action; also the tooltip. */
  label: string;
  size?: number;
  /** A small count in the corner. */
  count?: number;
  ref?: Ref<HTMLButtonElement>;
}

export function IconButton({ icon: Icon, label, size = 16, count = 0, className = "", ...rest }: IconButtonProps): ReactNode {
  return (
    <button type="button" className={`icon-button ${className}`} aria-label={label} title={label} {...rest}>
      <Icon size={size} aria-hidden />
      {count > 0 && <span className="icon-button-count">{count > 99 ? "99+" : count}</span>}
    </button>
  );
}
