// The page that draws one diagram. It has an origin of its own that nobody shares, no network, and no scripts but this.

import mermaid from "mermaid";
import type { Begin, Drawing, Hello } from "./protocol.js";

const desktop = window.parent;
const token = location.hash.slice(1);

addEventListener("message", (e: MessageEvent) => {
  const said = e.data as Partial<Begin> | null;
  const port = e.ports[0];
  if (e.source !== desktop || said?.type !== "everdesk:begin" || said.token !== token || port === undefined) return;
  void draw(said.text ?? "", said.dark === true).then((d) => port.postMessage(JSON.stringify(d)));
});
// Nothing in a diagram leads anywhere.
addEventListener("click", (e) => e.preventDefault(), true);
addEventListener("auxclick", (e) => e.preventDefault(), true);
desktop.postMessage({ type: "everdesk:hello", token } satisfies Hello, "*");

async function draw(text: string, dark: boolean): Promise<Drawing> {
  document.documentElement.style.colorScheme = dark ? "dark" : "light";
  mermaid.initialize({
    startOnLoad: false,
    securityLevel: "strict",
    suppressErrorRendering: true,
    theme: dark ? "dark" : "default",
    maxTextSize: 50_000,
    fontFamily: "system-ui, sans-serif",
    flowchart: { htmlLabels: false },
    // What a diagram says of itself changes none of these.
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
