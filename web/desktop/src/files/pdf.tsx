// A PDF file, drawn by pdf.js in a sandboxed frame of the apps' origin. The frame has no network: it gets the bytes.

import { FileX } from "lucide-react";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { newToken, useHandshake } from "../content/app-frame/handshake.js";
import { Card } from "../content/card.js";
import { useTexts } from "../i18n/use.js";
import { useShell } from "../shell/context.js";
import { files as texts } from "../texts/files.js";

/** The longest time until the first page is drawn, in ms. */
const drawTimeout = 60_000;

export function PDFView({ data, title }: { data: ArrayBuffer; title: string }): ReactNode {
  const t = useTexts(texts);
  const origin = useShell((s) => s.hub.appsOrigin);
  const [token] = useState(newToken);
  const [state, setState] = useState<"drawing" | "drawn" | "failed">("drawing");
  const frame = useRef<HTMLIFrameElement>(null);
  useHandshake(frame, token, {
    begin: () => ({ text: "", dark: false, data }),
    onPort(port) {
      port.onmessage = (e) => {
        const told = String(e.data).slice(0, 1000);
        setState(told.includes('"drawn"') ? "drawn" : "failed");
      };
    },
    onFlood: () => setState("failed"),
  });
  useEffect(() => {
    const timer = setTimeout(() => setState((s) => (s === "drawing" ? "failed" : s)), drawTimeout);
    return () => clearTimeout(timer);
  }, []);
  if (origin === "" || state === "failed") {
    return (
      <div className="content-state" data-content-state="failed" data-content-error="the PDF file cannot be shown">
        <Card icon={FileX} title={origin === "" ? t.pdfOff : t.pdfFailed}>
          {null}
        </Card>
      </div>
    );
  }
  return (
    <div className="content-state" data-content-state={state === "drawn" ? "ready" : "loading"} data-pdf={state}>
      <iframe ref={frame} className="content-frame" sandbox="allow-scripts" src={`${origin}/pdf.html#${token}`} title={title} referrerPolicy="no-referrer" />
      {state === "drawing" && <p className="content-loading">{t.pdfLoading}</p>}
    </div>
  );
}
