import { X } from "lucide-react";
import { type ReactNode, useEffect, useId, useRef } from "react";
import { IconButton } from "./button.js";

interface ModalProps {
  title: string;
  closeLabel: string;
  onClose: () => void;
  /** The shape: narrow, wide, or a sheet at the right edge (side). */
  shape?: "narrow" | "wide" | "side";
  children: ReactNode;
}

const firstField = ".modal-body :is(input, textarea, select):not(:disabled)";

/** A native dialog in the top layer. It takes the focus and returns it when it closes. */
export function Modal({ title, closeLabel, onClose, shape = "narrow", children }: ModalProps): ReactNode {
  const ref = useRef<HTMLDialogElement>(null);
  const heading = useId();
  useEffect(() => {
    const dialog = ref.current!;
    const before = document.activeElement;
    if (!dialog.open) dialog.showModal();
    // The browser focuses the close button, where a typed space would close the dialog.
    if (document.activeElement?.closest(".modal-head") !== null) dialog.querySelector<HTMLElement>(firstField)?.focus();
    return () => {
      dialog.close();
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={ref}
      className={`modal modal-${shape}`}
      aria-labelledby={heading}
      onCancel={(e) => {
        e.preventDefault();
        onClose();
      }}
      onPointerDown={(e) => {
        if (e.target === e.currentTarget) onClose(); // the backdrop
      }}
    >
      <div className="modal-box">
        <header className="modal-head">
          <h2 id={heading}>{title}</h2>
          <IconButton icon={X} label={closeLabel} onClick={onClose} />
        </header>
        <div className="modal-body">{children}</div>
      </div>
    </dialog>
  );
}
