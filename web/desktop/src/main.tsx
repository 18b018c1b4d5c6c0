import "./styles/tokens.css";
import "./styles/base.css";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app.js";
import { languageOf } from "./i18n/words.js";
import { ApiError } from "./shell/api.js";
import { boot } from "./shell/boot.js";
import { PageContext, WorkbenchContext } from "./shell/context.js";
import { Button } from "./ui/button.js";
import texts from "./words.js";

const root = createRoot(document.getElementById("root")!);
const t = texts[languageOf("system", navigator.languages)];

root.render(<p className="app-wait">{t.connecting}</p>);
boot().then(
  (page) =>
    root.render(
      <StrictMode>
        <PageContext value={page}>
          <WorkbenchContext value={page}>
            <App />
          </WorkbenchContext>
        </PageContext>
      </StrictMode>,
    ),
  (error: unknown) => {
    // Who is not signed in finds the way in at /login.
    if (error instanceof ApiError && error.status === 401) return location.replace("/login");
    root.render(
      <div className="app-wait" role="alert">
        <p>{t.failed}</p>
        <p>{error instanceof Error ? error.message : String(error)}</p>
        <Button kind="primary" onClick={() => location.reload()}>
          {t.retry}
        </Button>
        <a href="/">{t.others}</a>
      </div>,
    );
  },
);
