import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// The page is served by the hub, under a policy that forbids scripts in the page itself; so there are none.
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
        // What several parts use is one file: many small ones would not compress as well.
        codeSplitting: { groups: [{ name: "base", test: /\/core\/src\/|\/node_modules\/(react|react-dom|scheduler|zustand)\/|\/desktop\/src\/(shell|ui|i18n)\// }] },
      },
    },
  },
  server: { host: "127.0.0.1", port: 5173, strictPort: true },
});
