import { defineConfig, type EnvironmentOptions } from "vite";

// The pages of the apps origin. They run in sandboxes with an opaque origin, where module scripts do not load, so each
// page has one classic script that contains everything.
const script = (name: string, first: boolean): EnvironmentOptions => ({
  consumer: "client",
  build: {
    emptyOutDir: first,
    copyPublicDir: first,
    rolldownOptions: {
      input: `apps/${name}.ts`,
      output: { format: "iife", entryFileNames: `${name}.js`, codeSplitting: false },
      transform: { define: { "import.meta": "{}" } },
    },
  },
});

export default defineConfig({
  root: "apps",
  publicDir: "pages",
  build: { outDir: "../dist/apps", target: "es2023", modulePreload: false, chunkSizeWarningLimit: 4000 },
  environments: { stage: script("stage", true), diagram: script("diagram", false), pdf: script("pdf", false), framed: script("framed", false) },
  builder: {
    async buildApp(builder) {
      await builder.build(builder.environments.stage!);
      await builder.build(builder.environments.diagram!);
      await builder.build(builder.environments.pdf!);
      await builder.build(builder.environments.framed!);
    },
  },
});
