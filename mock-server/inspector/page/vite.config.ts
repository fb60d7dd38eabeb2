import { join } from "node:path";
import { defineConfig } from "vite";
import { licencesPlugin } from "./licences-plugin.ts";

export default defineConfig({
  root: import.meta.dirname,
  // Relative, so that the page works wherever the mock is mounted.
  base: "./",
  plugins: [licencesPlugin()],
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: join(import.meta.dirname, "../../../dist/mock-server/inspector/page"),
    emptyOutDir: true,
    target: "es2022",
    // The first versions with `light-dark()`; everything else in the style sheets is older.
    cssTarget: ["chrome123", "firefox120", "safari17.5"],
    // The Content-Security-Policy allows no inline code and no data URLs for scripts.
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    // The editor is one chunk, which only the Run view loads.
    chunkSizeWarningLimit: 700,
    reportCompressedSize: false,
  },
});
