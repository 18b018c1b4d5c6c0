import "./board.css";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { isComposing } from "../../ui/keys.js";

interface TextFieldProps {
  label: string;
  text: string;
  className?: string;
  /** Called once with the text that was entered; undefined if it was cancelled or is the same. */
  onDone: (text: string | undefined) => void;
}

/** A field for one line that has the focus: Enter and leaving it save, Escape cancels. */
export function TextField({ label, text, className = "", onDone }: TextFieldProps): ReactNode {
  const [value, setValue] = useState(text);
  const field = useRef<HTMLInputElement>(null);
  const over = useRef(false);
  useEffect(() => {
    field.current?.focus();
    field.current?.select();
  }, []);
  const end = (entered: string | undefined): void => {
    if (over.current) return;
    over.current = true;
    onDone(entered === text ? undefined : entered);
  };
  return (
    <input
      ref={field}
      className={`board-field ${className}`}
      aria-label={label}
      value={value}
      onChange={(e) => setValue(e.target.value)}
      onBlur={() => end(value)}
      onPointerDown={(e) => e.stopPropagation()}
      onKeyDown={(e) => {
        e.stopPropagation();
        if (isComposing(e)) return;
        if (e.key === "Enter") end(value);
        if (e.key === "Escape") end(undefined);
      }}
    />
  );
}

interface AddFieldProps {
  label: string;
  placeholder: string;
  onAdd: (text: string) => void;
}

/** A field for new items; Enter adds one and stays. */
export function AddField({ label, placeholder, onAdd }: AddFieldProps): ReactNode {
  const [value, setValue] = useState("");
  return (
    <input
      className="board-field board-add"
      aria-label={label}
      placeholder={placeholder}
      value={value}
      onChange={(e) => setValue(e.target.value)}
      onKeyDown={(e) => {
        if (e.key !== "Enter" || isComposing(e) || value.trim() === "") return;
        e.preventDefault();
        onAdd(value);
        setValue("");
      }}
    />
  );
}

/** Keys for items that stay the same when items move: their texts, counted. */
export function itemKeys(texts: readonly string[]): string[] {
  const seen = new Map<string, number>();
  return texts.map((text) => {
    const n = seen.get(text) ?? 0;
    seen.set(text, n + 1);
    return `${n} ${text}`;
  });
}
