// The page that draws one diagram. It has an opaque origin, no network, and no scripts but this one.

import mermaid from "mermaid";
import { connect } from "./handshake.js";
import type { Begin, Colors, DrawingResult } from "./protocol.js";

// Links of a diagram do nothing.
addEventListener("click", (e) => e.preventDefault(), true);
addEventListener("auxclick", (e) => e.preventDefault(), true);
connect((begin, port) => void draw(begin).then((d) => port.postMessage(JSON.stringify(d))));

async function draw({ text, dark, colors }: Begin): Promise<DrawingResult> {
  document.documentElement.style.colorScheme = dark ? "dark" : "light";
  mermaid.initialize({
    startOnLoad: false,
    securityLevel: "strict",
    suppressErrorRendering: true,
    theme: "base",
    themeVariables: { darkMode: dark, ...(colors && variablesOf(colors)) },
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

/** The variables of Mermaid, which computes the rest from these. */
function variablesOf(c: Colors): Record<string, string> {
  return {
    background: c.surface,
    primaryColor: c.background,
    primaryTextColor: c.ink,
    primaryBorderColor: c.accent,
    secondaryColor: c.surface,
    tertiaryColor: c.surface,
    textColor: c.ink,
    lineColor: c.line,
    edgeLabelBackground: c.surface,
  };
}
