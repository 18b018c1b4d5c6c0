import { type ReactNode, useEffect, useRef, useState, useSyncExternalStore } from "react";
import type { Drawing } from "../../../../apps/protocol.js";
import { useTexts } from "../../i18n/use.js";
import { useShell } from "../../shell/context.js";
import { content as texts } from "../../texts/entry.js";
import { type Handshake, newToken, useHandshake } from "../app-frame/handshake.js";
import { Code } from "./code.js";

/** How long a source may be, and how long drawing it and getting ready to may take. */
const maxSource = 50 << 10;
const drawTime = 2000;
const loadTime = 15_000;
/** A source that is still written is not drawn yet. */
const settleTime = 400;

type State = "waiting" | "large" | "slow" | "wrong" | "off" | "drawn";

/** A diagram, drawn in a frame that can reach nothing. When that fails, its source is shown. */
export function Diagram({ source }: { source: string }): ReactNode {
  const t = useTexts(texts);
  const origin = useShell((s) => s.hub.appsOrigin);
  const dark = useDark();
  const settled = useSettled(source);
  const [failed, setFailed] = useState<{ source: string; why: State }>();
  const why: State = origin === "" ? "off" : source.length > maxSource ? "large" : failed?.source === source ? failed.why : "drawn";
  if (why !== "drawn") {
    const note = { off: t.diagramOff, large: t.diagramLarge, slow: t.diagramSlow, wrong: t.diagramWrong, waiting: "" }[why];
    return <Code lang="mermaid" text={source} note={note} />;
  }
  if (settled !== source) return <Code lang="mermaid" text={source} />;
  return <DiagramFrame key={`${dark} ${source}`} origin={origin} source={source} dark={dark} onFail={(f) => setFailed({ source, why: f })} />;
}

interface DiagramFrameProps {
  origin: string;
  source: string;
  dark: boolean;
  onFail: (why: "slow" | "wrong") => void;
}

function DiagramFrame({ origin, source, dark, onFail }: DiagramFrameProps): ReactNode {
  const t = useTexts(texts);
  const [token] = useState(newToken);
  const [size, setSize] = useState<{ width: number; height: number }>();
  const frame = useRef<HTMLIFrameElement>(null);
  const fail = useRef(onFail);
  fail.current = onFail;
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const limit = (ms: number): void => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => fail.current("slow"), ms);
  };
  const handshake: Handshake = {
    begin: () => ({ text: source, dark }),
    onPort(port) {
      limit(drawTime);
      port.onmessage = (e) => {
        clearTimeout(timer.current);
        const d = readDrawing(e.data);
        if (d?.type === "drawn") setSize(d);
        else fail.current("wrong");
      };
    },
    onFlood: () => fail.current("wrong"),
  };
  useHandshake(frame, token, handshake);
  useEffect(() => () => clearTimeout(timer.current), []);
  return (
    <div className="md-diagram">
      {size === undefined && <p className="md-note">{t.drawing}</p>}
      <iframe
        ref={frame}
        sandbox="allow-scripts"
        src={`${origin}/diagram.html#${token}`}
        title={t.diagram}
        referrerPolicy="no-referrer"
        loading="lazy"
        onLoad={() => size === undefined && limit(loadTime)}
        style={{ height: size?.height ?? 80, visibility: size === undefined ? "hidden" : undefined }}
      />
    </div>
  );
}

function readDrawing(data: unknown): Drawing | undefined {
  try {
    const d = JSON.parse(String(data).slice(0, 10_000)) as Drawing;
    if (d.type === "failed") return d;
    const size = (n: unknown): number => Math.min(Math.max(Number(n) || 0, 24), 4000);
    return d.type === "drawn" ? { type: "drawn", width: size(d.width), height: size(d.height) } : undefined;
  } catch {
    return undefined;
  }
}

/** The source, once it has not changed for a moment. */
function useSettled(source: string): string | undefined {
  const [settled, setSettled] = useState<string>();
  useEffect(() => {
    const timer = setTimeout(() => setSettled(source), settleTime);
    return () => clearTimeout(timer);
  }, [source]);
  return settled;
}

/** Whether the page is dark now. */
function useDark(): boolean {
  return useSyncExternalStore(
    (changed) => {
      const watch = new MutationObserver(changed);
      watch.observe(document.documentElement, { attributeFilter: ["data-theme"] });
      return () => watch.disconnect();
    },
    () => document.documentElement.dataset.theme !== "light",
  );
}
