import { readFileSync } from "node:fs";
import { join } from "node:path";
import { buildSchema } from "graphql";
import { defaultClientConditions, defineConfig } from "vite";

const schema = buildSchema(readFileSync(join(import.meta.dirname, "../../../schema.graphql"), "utf8"));
const operationNames = [schema.getQueryType(), schema.getMutationType()]
  .flatMap((type) => Object.keys(type?.getFields() ?? {}))
  .sort();

export default defineConfig({
  root: import.meta.dirname,
  // Relative, so that the page works wherever the mock is mounted.
  base: "./",
  resolve: { conditions: ["workspace-tasks-source", ...defaultClientConditions] },
  define: { __OPERATION_NAMES__: JSON.stringify(operationNames) },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: join(import.meta.dirname, "../../dist/inspector"),
    emptyOutDir: true,
    // The texts of the licences must accompany every copy of the packages in the page.
    license: { fileName: "assets/licences.txt" },
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
