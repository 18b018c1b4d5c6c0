// The page that draws a PDF file. It has an opaque origin, no network, and no scripts but this one: pdf.js with its worker code, which
// runs in this page, because a page without an origin cannot load a worker.

import * as pdfjs from "pdfjs-dist/legacy/build/pdf.mjs";
import * as worker from "pdfjs-dist/legacy/build/pdf.worker.mjs";
import { connect } from "./handshake.js";

// pdf.js looks for the worker code there.
(globalThis as { pdfjsWorker?: unknown }).pdfjsWorker = worker;

/** The most pages that are drawn, and the most pixels of one. */
const mostPages = 300;
const mostPixels = 8_000_000;

connect((begin, port) => {
  show(begin.data ?? new ArrayBuffer(0)).then(
    () => port.postMessage(JSON.stringify({ type: "drawn" })),
    (error: unknown) => port.postMessage(JSON.stringify({ type: "failed", error: String(error).slice(0, 300) })),
  );
});

/** Draws the first page, and the others when they come into view. */
async function show(data: ArrayBuffer): Promise<void> {
  const doc = await pdfjs.getDocument({ data: new Uint8Array(data), isEvalSupported: false, enableXfa: false, useSystemFonts: true, useWorkerFetch: false, useWasm: false }).promise;
  const observer = new IntersectionObserver(
    (seen) => {
      for (const { isIntersecting, target } of seen) {
        if (!isIntersecting) continue;
        observer.unobserve(target);
        void draw(doc, target as HTMLCanvasElement).catch(() => undefined);
      }
    },
    { rootMargin: "600px" },
  );
  const first = await doc.getPage(1);
  const { width, height } = first.getViewport({ scale: 1 });
  const canvases = Array.from({ length: Math.min(doc.numPages, mostPages) }, (_, i) => {
    const canvas = document.createElement("canvas");
    canvas.dataset.page = String(i + 1);
    canvas.style.aspectRatio = `${width} / ${height}`;
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", `${i + 1} / ${doc.numPages}`);
    return canvas;
  });
  document.body.replaceChildren(...canvases);
  await draw(doc, canvases[0]!);
  for (const canvas of canvases.slice(1)) observer.observe(canvas);
}

async function draw(doc: pdfjs.PDFDocumentProxy, canvas: HTMLCanvasElement): Promise<void> {
  const page = await doc.getPage(Number(canvas.dataset.page));
  const size = page.getViewport({ scale: 1 });
  const wanted = (Math.max(canvas.clientWidth, 300) * devicePixelRatio) / size.width;
  const scale = Math.min(wanted, Math.sqrt(mostPixels / (size.width * size.height)));
  const viewport = page.getViewport({ scale });
  canvas.width = Math.ceil(viewport.width);
  canvas.height = Math.ceil(viewport.height);
  canvas.style.aspectRatio = `${size.width} / ${size.height}`;
  await page.render({ canvas, viewport, annotationMode: pdfjs.AnnotationMode.DISABLE }).promise;
  const text = await page.getTextContent();
  canvas.textContent = text.items.map((i) => ("str" in i ? i.str : "")).join(" ").slice(0, 20_000); // for screen readers
}
