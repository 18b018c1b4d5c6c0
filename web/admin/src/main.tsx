import "../../desktop/src/styles/fonts.css";
import "../../desktop/src/styles/tokens.css";
import "../../desktop/src/styles/base.css";
import "./styles.css";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { Api } from "./api/api.js";
import { App } from "./app.js";
import { openPage } from "./state/store.js";
import { PageContext } from "./state/use.js";

const page = openPage(new Api((input, init) => fetch(input, init)));

createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <PageContext value={page}>
      <App />
    </PageContext>
  </StrictMode>,
);
