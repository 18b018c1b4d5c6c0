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
        // Code that several parts use is one file: many small files compress worse.
        codeSplitting: { groups: [{ name: "base", test: /\/core\/src\/|\/node_modules\/(react|react-dom|scheduler|zustand)\/|\/desktop\/src\/(shell|ui|i18n)\// }] },
      },
    },
  },
  server: { host: "127.0.0.1", port: 5173, strictPort: true },
});
