import { type RefObject, useEffect, useRef } from "react";
import type { Begin, Hello } from "../../../../apps/protocol.js";
import { Rate, strays } from "./rules.js";

export interface Handshake {
  /** What the frame is told to show. */
  begin: () => Pick<Begin, "text" | "dark">;
  /** A frame says hello again when its page was loaded again; the port before is of no use then. */
  onPort: (port: MessagePort) => void;
  /** The frame sends so much that it has to go. */
  onFlood: () => void;
}

/** Names a frame, so that no other page can say hello for it. */
export function newToken(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");
}

/** Gives a port to the page in a frame once that says hello. Only the frame itself is heard, and only without an origin. */
export function useHandshake(frame: RefObject<HTMLIFrameElement | null>, token: string, handshake: Handshake): void {
  const latest = useRef(handshake);
  latest.current = handshake;
  useEffect(() => {
    const hellos = new Rate(2);
    const others = new Rate(0);
    const hear = (e: MessageEvent): void => {
      const page = frame.current?.contentWindow;
      if (page == null || e.source !== page || e.origin !== "null") return;
      const said = e.data as Partial<Hello> | null;
      const now = Date.now();
      if (said?.type !== "everdesk:hello" || said.token !== token || !hellos.take(now)) {
        others.take(now);
        if (others.dropped >= strays) latest.current.onFlood();
        return;
      }
      const { port1, port2 } = new MessageChannel();
      latest.current.onPort(port1);
      // An origin that is nobody's cannot be named as a target.
      page.postMessage({ type: "everdesk:begin", token, ...latest.current.begin() } satisfies Begin, "*", [port2]);
    };
    addEventListener("message", hear);
    return () => removeEventListener("message", hear);
  }, [frame, token]);
}
