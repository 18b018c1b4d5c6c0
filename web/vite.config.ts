import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// The hub serves the page under a policy that forbids inline scripts, so there are none.
export default defineConfig({
  root: "desktop",
  base: "/",
  plugins: [react()],
  build: {
    outDir: "../dist/desktop",
    emptyOutDir: true,
    target: "es2023",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    sourcemap: false,
    rolldownOptions: {
      output: {
        // Few files: each is a request, and many small ones compress worse. What the first paint needs is one file; the rest is
        // grouped by when it is needed. Large libraries stay in files of their own, which are fetched when they are used.
        codeSplitting: {
          groups: [
            { name: "start", tags: ["$initial"], priority: 4 },
            { name: "parts", test: /\/desktop\/src\/(asks|canvas|dock|drawer|invitation|launcher|notices|phone|plan|topbar|tour)[./]/, priority: 3 },
            { name: "panels", test: /\/desktop\/src\/(history|sessions|files)\/(?!editor)/, priority: 2 },
            { name: "board", test: /\/desktop\/src\/content\/board\//, priority: 2 },
            { name: "film", test: /\/desktop\/src\/film\//, priority: 2 },
            { name: "content", test: /\/desktop\/src\/content\/(?!mcp-app|table)/, priority: 1 },
          ],
        },
      },
    },
  },
  server: { host: "127.0.0.1", port: 5173, strictPort: true },
});
