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
import { useFollow } from "./follow.js";
import { Plain } from "./markdown/plain.js";
import { PlainText } from "./text.js";

export { Reporter } from "./reporter.js";

/** What a window shows. It fills its parent, scrolls by itself and must be given the newest state of the window. */
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
          <Shown window={w} />
        </Suspense>
      </Boundary>
    </div>
  );
}

// What not every desktop has is loaded when it is there.
const TableView = lazy(() => import("./table.js").then((m) => ({ default: m.TableView })));
const LayoutView = lazy(() => import("./layout/index.js").then((m) => ({ default: m.LayoutView })));
const Stage = lazy(() => import("./app-frame/index.js").then((m) => ({ default: m.AppFrame })));
const FrameView = lazy(() => import("./frame.js").then((m) => ({ default: m.FrameView })));

/** Windows move and change their order more often than their content. */
const Shown = memo(
  function Shown({ window: w }: { window: WindowState }): ReactNode {
    const { content } = w;
    switch (content.renderer) {
      case "markdown":
        return <Document text={content.data} label={w.title} />;
      case "table":
        return <TableView table={content.data} label={w.title} />;
      case "component":
        return <LayoutView window={w} layout={content.data} />;
      case "html":
        return <Stage window={w} html={content.data} />;
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
  const follow = useFollow(text);
  return (
    <div {...follow} className="content-scroll" tabIndex={0} role="document" aria-label={label}>
      <div className="content-document">
        <Markdown text={text} />
      </div>
    </div>
  );
}

const MarkdownView = lazy(() => import("./markdown/view.js"));

/** Longer texts are shown as they are. */
const maxFormatted = 256 << 10;

/** Formatted text of an agent, as the conversation shows it too. While it streams, only its end is read anew. */
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
      <Suspense fallback={plain}>
        <MarkdownView text={text} streaming={streaming} />
      </Suspense>
    </Boundary>
  );
});
