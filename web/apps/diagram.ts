// The page that draws one diagram. It has an opaque origin, no network, and no scripts but this one.

import mermaid from "mermaid";
import type { Begin, DrawingResult, Hello } from "./protocol.js";

const desktop = window.parent;
const token = location.hash.slice(1);

addEventListener("message", (e: MessageEvent) => {
  const message = e.data as Partial<Begin> | null;
  const port = e.ports[0];
  if (e.source !== desktop || message?.type !== "everdesk:begin" || message.token !== token || port === undefined) return;
  void draw(message.text ?? "", message.dark === true).then((d) => port.postMessage(JSON.stringify(d)));
});
// Links of a diagram do nothing.
addEventListener("click", (e) => e.preventDefault(), true);
addEventListener("auxclick", (e) => e.preventDefault(), true);
desktop.postMessage({ type: "everdesk:hello", token } satisfies Hello, "*");

async function draw(text: string, dark: boolean): Promise<DrawingResult> {
  document.documentElement.style.colorScheme = dark ? "dark" : "light";
  mermaid.initialize({
    startOnLoad: false,
    securityLevel: "strict",
    suppressErrorRendering: true,
    theme: dark ? "dark" : "default",
    maxTextSize: 50_000,
    fontFamily: "system-ui, sans-serif",
    flowchart: { htmlLabels: false },
    // Directives in the source of a diagram cannot change these settings.
    secure: ["secure", "securityLevel", "startOnLoad", "maxTextSize", "maxEdges", "suppressErrorRendering", "theme", "themeCSS", "fontFamily"],
  });
  try {
    const { svg } = await mermaid.render("diagram", text);
    const parsed = new DOMParser().parseFromString(svg, "text/html").querySelector("svg");
    if (parsed === null) throw new Error("nothing was drawn");
    for (const link of parsed.querySelectorAll("a")) for (const name of link.getAttributeNames()) if (/href|target/.test(name)) link.removeAttribute(name);
    document.body.replaceChildren(parsed);
    const box = parsed.getBoundingClientRect();
    return { type: "drawn", width: Math.ceil(box.width), height: Math.ceil(box.height) };
  } catch (e) {
    return { type: "failed", error: e instanceof Error ? e.message : String(e) };
  }
}
