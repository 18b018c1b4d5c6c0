import { type ReactNode, useEffect, useRef, useState, useSyncExternalStore } from "react";
import type { Colors, DrawingResult } from "../../../../apps/protocol.js";
import { useTexts } from "../../i18n/use.js";
import { useShell } from "../../shell/context.js";
import { content as texts } from "../../texts/content.js";
import { type Handshake, newToken, useHandshake } from "../app-frame/handshake.js";
import { Code } from "./code.js";

/** The maximum length of a source. */
const maxSource = 50 << 10;
/** How long drawing may take, in ms: a busy machine gets more time in the next attempts. */
const drawTimeouts = [2000, 8000, 20_000];
/** How long the frame may take to load, in ms. */
const loadTimeout = 15_000;
/** How long a source must be unchanged before it is drawn, in ms; it may still be streaming. */
const debounceTime = 400;

type State = "waiting" | "large" | "slow" | "wrong" | "off" | "drawn";

/** A diagram, drawn in a sandboxed frame. If that fails, its source is shown. */
export function Diagram({ source }: { source: string }): ReactNode {
  const t = useTexts(texts);
  const origin = useShell((s) => s.hub.appsOrigin);
  const dark = useDark();
  const settled = useDebounced(source);
  const [failed, setFailed] = useState<{ source: string; why: State }>();
  const [slow, setSlow] = useState(0); // the attempts that took too long
  const why: State = origin === "" ? "off" : source.length > maxSource ? "large" : failed?.source === source ? failed.why : "drawn";
  if (why !== "drawn") {
    const note = { off: t.diagramOff, large: t.diagramLarge, slow: t.diagramSlow, wrong: t.diagramWrong, waiting: "" }[why];
    return <Code lang="mermaid" text={source} note={note} />;
  }
  if (settled !== source) return <Code lang="mermaid" text={source} />;
  const onFail = (f: "slow" | "wrong"): void => {
    if (f === "slow" && slow + 1 < drawTimeouts.length) setSlow(slow + 1);
    else setFailed({ source, why: f });
  };
  return <DiagramFrame key={`${slow} ${dark} ${source}`} origin={origin} source={source} dark={dark} drawTimeout={drawTimeouts[slow]!} onFail={onFail} />;
}

interface DiagramFrameProps {
  origin: string;
  source: string;
  dark: boolean;
  drawTimeout: number;
  onFail: (why: "slow" | "wrong") => void;
}

function DiagramFrame({ origin, source, dark, drawTimeout, onFail }: DiagramFrameProps): ReactNode {
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
    begin: () => ({ text: source, dark, colors: themeColors() }),
    onPort(port) {
      limit(drawTimeout);
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
        onLoad={() => size === undefined && limit(loadTimeout)}
        style={{ height: size?.height ?? 80, visibility: size === undefined ? "hidden" : undefined }}
      />
    </div>
  );
}

function readDrawing(data: unknown): DrawingResult | undefined {
  try {
    const d = JSON.parse(String(data).slice(0, 10_000)) as DrawingResult;
    if (d.type === "failed") return d;
    const size = (n: unknown): number => Math.min(Math.max(Number(n) || 0, 24), 4000);
    return d.type === "drawn" ? { type: "drawn", width: size(d.width), height: size(d.height) } : undefined;
  } catch {
    return undefined;
  }
}

/** The source, once it has been unchanged for debounceTime. */
function useDebounced(source: string): string | undefined {
  const [settled, setSettled] = useState<string>();
  useEffect(() => {
    const timer = setTimeout(() => setSettled(source), debounceTime);
    return () => clearTimeout(timer);
  }, [source]);
  return settled;
}

function themeColors(): Colors {
  const style = getComputedStyle(document.documentElement);
  const color = (name: string): string => style.getPropertyValue(name).trim();
  return { surface: color("--surface"), background: color("--bg"), ink: color("--ink"), line: color("--line-strong"), accent: color("--accent") };
}

/** Whether the theme of the page is dark. */
function useDark(): boolean {
  return useSyncExternalStore(
    (changed) => {
      const observer = new MutationObserver(changed);
      observer.observe(document.documentElement, { attributeFilter: ["data-theme"] });
      return () => observer.disconnect();
    },
    () => document.documentElement.dataset.theme !== "light",
  );
}
