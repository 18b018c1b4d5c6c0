// The outputs of a cell. They are hostile: HTML is sanitized, or in a sandbox if it has scripts, and SVG is a picture.

import { lazy, type ReactNode, Suspense, useEffect, useRef } from "react";
import type { CellOutput, WindowState } from "../../../../core/src/index.js";
import { useTexts } from "../../i18n/use.js";
import { notebook as texts } from "../../texts/notebook.js";
import { sanitize } from "../markdown/sanitize.js";
import MarkdownView from "../markdown/view.js";
import { overwrite, spans } from "./ansi.js";

const AppFrame = lazy(() => import("../app-frame/index.js").then((m) => ({ default: m.AppFrame })));

/** The characters of a text that are shown. */
const mostText = 200_000;

function Terminal({ text, name }: { text: string; name: string }): ReactNode {
  return (
    <pre className="notebook-text" data-stream={name} tabIndex={0}>
      {spans(overwrite(text.slice(0, mostText))).map((s, i) => (
        <span key={i} data-fg={s.fg} data-bg={s.bg} data-bold={s.bold}>
          {s.text}
        </span>
      ))}
    </pre>
  );
}

function Html({ html }: { html: string }): ReactNode {
  const at = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const clean = sanitize(html);
    for (const picture of clean.querySelectorAll("img:not([alt])")) picture.setAttribute("alt", "");
    at.current!.replaceChildren(clean);
  }, [html]);
  return <div ref={at} className="notebook-html md" tabIndex={0} />;
}

const pictures = ["image/png", "image/jpeg", "image/gif", "image/webp"] as const;

/** UTF-8 text as base64. */
function base64(text: string): string {
  return btoa(Array.from(new TextEncoder().encode(text), (b) => String.fromCharCode(b)).join(""));
}

export function formsOf(data: unknown): Record<string, string> {
  if (typeof data !== "object" || data === null) return {};
  return Object.fromEntries(Object.entries(data).filter((e): e is [string, string] => typeof e[1] === "string"));
}

function Display({ output: o, window: w, n }: { output: CellOutput; window: WindowState; n: number }): ReactNode {
  const t = useTexts(texts);
  const forms = formsOf(o.data);
  const picture = pictures.find((p) => forms[p]);
  if (picture !== undefined) {
    return <img className="notebook-picture" src={`data:${picture};base64,${forms[picture]!.replaceAll(/[^A-Za-z0-9+/=]/g, "")}`} alt={t.picture(n)} />;
  }
  const svg = forms["image/svg+xml"];
  if (svg) return <img className="notebook-picture" src={`data:image/svg+xml;base64,${base64(svg)}`} alt={t.picture(n)} />;
  const html = forms["text/html"];
  if (html && /<script|<iframe/i.test(html)) {
    return (
      <div className="notebook-frame">
        <Suspense>
          <AppFrame window={w} html={html} />
        </Suspense>
      </div>
    );
  }
  if (html) return <Html html={html} />;
  const text = forms["text/markdown"];
  if (text) return <MarkdownView text={text} />;
  return <Terminal text={forms["text/plain"] ?? forms["text/latex"] ?? ""} name="result" />;
}

export function Output({ output: o, window: w, n }: { output: CellOutput; window: WindowState; n: number }): ReactNode {
  switch (o.type) {
    case "stream":
      return <Terminal text={o.text ?? ""} name={o.name === "stderr" ? "stderr" : "stdout"} />;
    case "error":
      return <Terminal text={o.text || `${o.name ?? ""}: ${o.value ?? ""}`} name="error" />;
  }
  return <Display output={o} window={w} n={n} />;
}
