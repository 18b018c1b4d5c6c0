// The first exchange of a page with the desktop.

import type { Begin, Hello } from "./protocol.js";

/** The time between hellos, in ms. */
const helloInterval = 500;

/**
 * Sends hello until the desktop answers, which may not listen yet when this page has loaded. Calls onBegin once, with the answer
 * and its port.
 */
export function connect(onBegin: (begin: Begin, port: MessagePort) => void): void {
  const desktop = window.parent;
  const token = location.hash.slice(1);
  const hello: Hello = { type: "everdesk:hello", token, load: Math.random().toString(36).slice(2) };
  const greet = (): void => desktop.postMessage(hello, "*");
  const repeat = setInterval(greet, helloInterval);
  addEventListener("message", hear);
  greet();

  function hear(e: MessageEvent): void {
    const message = e.data as Begin | null;
    const port = e.ports[0];
    if (e.source !== desktop || message?.type !== "everdesk:begin" || message.token !== token || port === undefined) return;
    removeEventListener("message", hear);
    clearInterval(repeat);
    onBegin(message, port);
  }
}
