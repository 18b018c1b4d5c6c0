import "./content.css";
import "./markdown.css";
import "./table.css";
import { CircleAlert } from "lucide-react";
import { lazy, memo, type ReactNode, Suspense } from "react";
import { type Content as ContentOf, type WindowState, windowKey } from "../../../core/src/index.js";
import { useTexts } from "../i18n/use.js";
import { content as texts } from "../texts/entry.js";
import { Boundary } from "../ui/boundary.js";
import { Button } from "../ui/button.js";
import { Card } from "./card.js";
import { useFollowEnd } from "./follow-end.js";
import { Plain } from "./markdown/plain.js";
import { PlainText } from "./text.js";

export { Reporter } from "./reporter.js";

/** The content of a window. It fills its parent and scrolls by itself. */
export function Content({ window: w }: { window: WindowState }): ReactNode {
  const t = useTexts(texts);
  return (
    <div className="content" data-content={windowKey(w.monitorId, w.windowId)} data-renderer={w.content.renderer}>
      <Boundary
        resetKey={w.content}
        fallback={(error, again) => (
          <div className="content-state" data-content-state="failed" data-content-error={error.message}>
            <Card icon={CircleAlert} title={t.rendererFailed}>
              <code>{error.message}</code>
              <Button onClick={again}>{t.tryAgain}</Button>
            </Card>
          </div>
        )}
      >
        <Suspense fallback={<p className="content-loading" data-content-state="loading">{t.loading}</p>}>
          <ContentView window={w} />
        </Suspense>
      </Boundary>
    </div>
  );
}

// Renderers that few windows need are loaded on demand.
const EditedTable = lazy(() => import("./board/edited-table.js").then((m) => ({ default: m.EditedTable })));
const ChartView = lazy(() => import("./chart/index.js").then((m) => ({ default: m.ChartView })));
const LayoutView = lazy(() => import("./layout/index.js").then((m) => ({ default: m.LayoutView })));
const AppFrame = lazy(() => import("./app-frame/index.js").then((m) => ({ default: m.AppFrame })));
const MCPAppView = lazy(() => import("./mcp-app/index.js").then((m) => ({ default: m.MCPAppView })));
const NotebookView = lazy(() => import("./notebook/index.js").then((m) => ({ default: m.NotebookView })));
const FrameView = lazy(() => import("./iframe.js").then((m) => ({ default: m.IframeView })));

/** Compares the content, because windows move and change their order more often than their content. */
const ContentView = memo(
  function Shown({ window: w }: { window: WindowState }): ReactNode {
    const { content } = w;
    switch (content.renderer) {
      case "markdown":
        return <Document text={content.data} label={w.title} />;
      case "table":
        return <EditedTable window={w} content={content} />;
      case "chart":
        return <ChartView chart={content.data} label={w.title} />;
      case "component":
        return <LayoutView window={w} layout={content.data} />;
      case "html":
        return <AppFrame window={w} html={content.data} />;
      case "mcp-app":
        return <MCPAppView window={w} app={content.data} />;
      case "notebook":
        return <NotebookView window={w} notebook={content.data} />;
      case "iframe":
        return <FrameView window={w} source={content.data} />;
      default:
        return <PlainText text={asText(content)} label={w.title} />;
    }
  },
  (a, b) => a.window.content === b.window.content && a.window.title === b.window.title && sameWindow(a.window, b.window),
);

function sameWindow(a: WindowState, b: WindowState): boolean {
  return a.windowId === b.windowId && a.monitorId === b.monitorId;
}

function asText(content: ContentOf): string {
  return typeof content.data === "string" ? content.data : (JSON.stringify(content.data, null, 2) ?? "");
}

function Document({ text, label }: { text: string; label: string }): ReactNode {
  const follow = useFollowEnd(text);
  return (
    <div {...follow} className="content-scroll" tabIndex={0} role="document" aria-label={label}>
      <div className="content-document">
        <Markdown text={text} />
      </div>
    </div>
  );
}

const MarkdownView = lazy(() => import("./markdown/view.js"));

/** The length from which a text is shown without formatting. */
const maxFormatted = 256 << 10;

/** Formatted text of an agent, also in the conversation. While the text streams, only its end is parsed again. */
export const Markdown = memo(function Markdown({ text, streaming = false }: { text: string; streaming?: boolean }): ReactNode {
  const t = useTexts(texts);
  const plain = (
    <div className="md">
      <Plain text={text} />
    </div>
  );
  if (text.length > maxFormatted) {
    return (
      <>
        <p className="md-note">{t.tooLong}</p>
        {plain}
      </>
    );
  }
  return (
    <Boundary fallback={() => plain} resetKey={text}>
      <Suspense fallback={<div className="content-late">{plain}</div>}>
        <MarkdownView text={text} streaming={streaming} />
      </Suspense>
    </Boundary>
  );
});
