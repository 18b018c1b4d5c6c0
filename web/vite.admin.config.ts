import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// The admin page. The hub serves it below /admin, under the same policy as the desktop.
export default defineConfig({
  root: "admin",
  base: "/admin/",
  plugins: [react()],
  build: {
    outDir: "../dist/admin",
    emptyOutDir: true,
    target: "es2023",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    sourcemap: false,
  },
  server: { host: "127.0.0.1", port: 5174, strictPort: true },
});
