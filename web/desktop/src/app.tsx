import { type ReactNode, Suspense } from "react";
import { Canvas } from "./canvas/index.js";
import { Reporter } from "./content/index.js";
import { Dock } from "./dock/index.js";
import { useFileDrops } from "./files/drops.js";
import { useTexts } from "./i18n/use.js";
import { Asks, Drawer, FileTray, Notices, Panels, Phone, Plans, Tour } from "./lazy-parts.js";
import { Palette } from "./palette/index.js";
import { useShell } from "./shell/context.js";
import { useMonitorGone } from "./shell/select.js";
import { usePageTheme } from "./shell/theme.js";
import { usePhone } from "./shell/viewport.js";
import { app as texts } from "./texts/entry.js";
import { isSessionClosed, MonitorGone, TopBar } from "./topbar/index.js";
import { Boundary } from "./ui/boundary.js";
import { Button } from "./ui/button.js";

export function App(): ReactNode {
  usePageTheme();
  const t = useTexts(texts);
  const phone = usePhone();
  const panel = useShell((s) => s.panel);
  const wallpaper = useShell((s) => s.prefs.wallpaper);
  const dropping = useFileDrops();
  return (
    <Boundary
      fallback={(error) => (
        <div className="app-wait" role="alert">
          <p>{t.broken}</p>
          <code>{error.message}</code>
          <Button kind="primary" onClick={() => location.reload()}>
            {t.reload}
          </Button>
        </div>
      )}
    >
      <div className={`app-wall wall-${wallpaper}`} />
      <Suspense fallback={<p className="app-wait">{t.connecting}</p>}>{phone ? <Phone /> : <WideLayout />}</Suspense>
      <Suspense>
        <Notices />
      </Suspense>
      <Palette />
      <Suspense>{panel !== "" && <Panels />}</Suspense>
      <Suspense>
        <Asks />
        <FileTray dropping={dropping} />
      </Suspense>
      <Reporter />
    </Boundary>
  );
}

/** The layout for wide screens. F6 moves through its regions. */
function WideLayout(): ReactNode {
  const t = useTexts(texts);
  const gone = useMonitorGone();
  const over = useShell((s) => isSessionClosed(s.link));
  const drawer = useShell((s) => s.view.drawer) && !gone;
  return (
    <div className="app">
      <header className="app-topbar" aria-label={t.top} data-region="topbar">
        <TopBar />
      </header>
      <main className="app-canvas" aria-label={t.canvas} data-region="canvas" tabIndex={-1}>
        {gone ? <MonitorGone /> : <Canvas />}
        <Suspense>{!over && <Tour />}</Suspense>
      </main>
      <Suspense>{!gone && <Plans />}</Suspense>
      {drawer && (
        <aside className="app-drawer" aria-label={t.conversation} data-region="drawer" tabIndex={-1}>
          <Suspense fallback={<p className="app-drawer-wait">{t.connecting}</p>}>
            <Drawer />
          </Suspense>
        </aside>
      )}
      {!gone && !over && (
        <footer className="app-dock" aria-label={t.dock} data-region="dock" tabIndex={-1}>
          <Dock />
        </footer>
      )}
    </div>
  );
}
