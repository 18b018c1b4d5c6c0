import { ExternalLink, FileX, Globe } from "lucide-react";
import { lazy, type ReactNode, useEffect, useState } from "react";
import type { IframeSource, WindowState } from "../../../core/src/index.js";
import { folderOf, pathOf } from "../files/paths.js";
import { useTexts } from "../i18n/use.js";
import { useCommands, useEvents, useShell } from "../shell/context.js";
import { content as texts } from "../texts/content.js";
import { Button } from "../ui/button.js";
import { appOf, externalURL, fileKind, ownFile } from "./addresses.js";
import { AppFrame } from "./app-frame/index.js";
import { refreshesApps } from "./app-frame/storage.js";
import { Card } from "./card.js";
import { LeaveDialog } from "./leave-dialog.js";
import { PlainText } from "./text.js";

const maxFile = 5 << 20;

const FilesView = lazy(async () => ({ default: (await import("../files/browser.js")).FilesView }));
const FileWindow = lazy(async () => ({ default: (await import("../files/window.js")).FileWindow }));

/** A page by its address. Files of the session are shown; for other sites, only the address. */
export function IframeView({ window: w, source }: { window: WindowState; source: IframeSource }): ReactNode {
  const session = useShell((s) => s.session);
  const address = typeof source === "string" ? source : source.url;
  const folder = folderOf(address);
  if (folder !== undefined) return <FilesView folder={folder} />;
  const file = ownFile(address, session);
  if (file === undefined) return <OtherSite address={address} />;
  const path = pathOf(file, session);
  // A page is an app that may be registered with the hub, without a bar above it.
  if (path !== undefined && fileKind(file) !== "document") return <FileWindow window={w} path={path} />;
  return <FileView key={file} window={w} path={file} app={appOf(address)} />;
}

function OtherSite({ address }: { address: string }): ReactNode {
  const t = useTexts(texts);
  const [leave, setLeave] = useState(false);
  const url = externalURL(address);
  return (
    <div className="content-state" data-content-state="failed" data-content-error="the desktop does not load other sites; the person is offered to open it in a tab">
      <Card icon={Globe} title={t.otherSite}>
        <p>{url === undefined ? t.badAddress : t.otherSiteText}</p>
        <p className="content-url" tabIndex={0} role="group" aria-label={t.otherSite}>
          {url ?? address}
        </p>
        {url !== undefined && (
          <Button icon={ExternalLink} onClick={() => setLeave(true)}>
            {t.leaveOpen}
          </Button>
        )}
      </Card>
      {leave && url !== undefined && <LeaveDialog address={url} onClose={() => setLeave(false)} />}
    </div>
  );
}

/** A file that the desktop itself fetches, because the page that shows it has no network. */
function FileView({ window: w, path, app }: { window: WindowState; path: string; app: string | undefined }): ReactNode {
  const t = useTexts(texts);
  const { api } = useCommands();
  const [text, setText] = useState<string>();
  const [why, setWhy] = useState("");
  const [tries, setTries] = useState(0);
  // A new version of an app replaces the page; the same page stays as it is.
  useEvents((e) => {
    if (app !== undefined && refreshesApps(e)) setTries((n) => n + 1);
  });
  useEffect(() => {
    let over = false;
    setWhy("");
    api.fileText(path).then(
      (all) => over || (all.length > maxFile ? setWhy(t.pageLarge) : setText(all)),
      (e: unknown) => over || setWhy(t.pageFile(e instanceof Error ? e.message : String(e))),
    );
    return () => {
      over = true;
    };
  }, [api, path, tries, t]);
  if (why !== "") {
    return (
      <div className="content-state" data-content-state="failed" data-content-error={why}>
        <Card icon={FileX} title={why}>
          <Button onClick={() => setTries(tries + 1)}>{t.tryAgain}</Button>
        </Card>
      </div>
    );
  }
  if (text === undefined) return <p className="content-loading" data-content-state="loading">{t.pageLoading}</p>;
  return fileKind(path) === "document" ? <AppFrame window={w} html={text} app={app} /> : <PlainText text={text} label={w.title} />;
}
