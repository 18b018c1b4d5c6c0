import "../../desktop/src/styles/tokens.css";
import "../../desktop/src/styles/base.css";
import { createRoot } from "react-dom/client";

createRoot(document.getElementById("root")!).render(<h1>Everdesk</h1>);
