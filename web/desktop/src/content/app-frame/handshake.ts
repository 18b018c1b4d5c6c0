import { type RefObject, useEffect, useRef } from "react";
import type { Begin, Hello } from "../../../../apps/protocol.js";
import { Rate, strayLimit } from "./rules.js";

export interface Handshake {
  /** The text and theme for the frame to show. */
  begin: () => Pick<Begin, "text" | "dark" | "colors" | "data">;
  /** Called with a new port for the frame. A frame that was reloaded gets another; its earlier port is then useless. */
  onPort: (port: MessagePort) => void;
  /** Called when the frame has sent too many messages. */
  onFlood: () => void;
}

/** The random token of a frame, so that no other page can send hello for it. */
export function newToken(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");
}

/**
 * Sends a port to the page in a frame after its hello. Only messages of that frame, which has an opaque origin, are
 * accepted.
 */
export function useHandshake(frame: RefObject<HTMLIFrameElement | null>, token: string, handshake: Handshake): void {
  const latest = useRef(handshake);
  latest.current = handshake;
  useEffect(() => {
    const hellos = new Rate(2);
    const others = new Rate(0);
    let answered: string | undefined;
    const hear = (e: MessageEvent): void => {
      const page = frame.current?.contentWindow;
      if (page == null || e.source !== page || e.origin !== "null") return;
      const message = e.data as Partial<Hello> | null;
      const now = Date.now();
      if (message?.type !== "everdesk:hello" || message.token !== token || !hellos.allow(now)) {
        others.allow(now);
        if (others.dropped >= strayLimit) latest.current.onFlood();
        return;
      }
      if (message.load === answered) return; // it was sent again before the answer came
      answered = message.load;
      const { port1, port2 } = new MessageChannel();
      latest.current.onPort(port1);
      // An opaque origin cannot be named as a target.
      page.postMessage({ type: "everdesk:begin", token, ...latest.current.begin() } satisfies Begin, "*", [port2]);
    };
    addEventListener("message", hear);
    return () => removeEventListener("message", hear);
  }, [frame, token]);
}
