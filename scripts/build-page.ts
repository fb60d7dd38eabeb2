import { join } from "node:path";
import { defaultClientConditions, type UserConfig } from "vite";

/** How a page is built. @param folder of its sources @param outDir from there */
export const pageConfig = (folder: string, outDir: string): UserConfig => ({
  root: folder,
  // Relative, so that the page works wherever its server is mounted.
  base: "./",
  resolve: { conditions: ["workspace-tasks-source", ...defaultClientConditions] },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: join(folder, outDir),
    emptyOutDir: true,
    // The texts of the licences must accompany every copy of the packages in the page.
    license: { fileName: "assets/licences.txt" },
    target: "es2022",
    // The first versions with `light-dark()`; everything else in the style sheets is older.
    cssTarget: ["chrome123", "firefox120", "safari17.5"],
    // The Content-Security-Policy allows no inline code and no data URLs for scripts.
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    reportCompressedSize: false,
  },
});
