// A program that calls the service, in a bundle. Nothing but the SDK and the bundler is installed.
import { type Project, program } from "../project.ts";

const files = {
  "main.mjs": program("with-import.mjs"),
  "walk.mjs": program("walk.mjs"),
};
const prints = /all steps passed/;
const sdk = "@workspace-tasks/sdk";

/** What a browser would load from a script runs in Node as a module. */
const modules = `experiments: { outputModule: true },
  output: { module: true, chunkFormat: "module", chunkLoading: "import", publicPath: "./" },`;

const webpack = (target: "node" | "web"): Project => ({
  part: "bundlers",
  of: "webpack",
  how: `target ${target}`,
  install: [sdk, "webpack", "webpack-cli"],
  files: {
    ...files,
    "webpack.config.mjs": `export default {
  mode: "production",
  target: "${target}",
  entry: "./main.mjs",
  ${target === "web" ? modules : ""}
};
`,
  },
  run: `webpack && node dist/main.${target === "web" ? "mjs" : "js"}`,
  prints,
  ...(target === "node" && { quick: true }),
});

const viteServer = (how: string, noExternal: boolean): Project => ({
  part: "bundlers",
  of: "vite",
  how,
  install: [sdk, "vite"],
  files: { ...files, "vite.config.mjs": `export default { ssr: { noExternal: ${noExternal || "[]"} } };\n` },
  run: "vite build --ssr main.mjs && node dist/main.js",
  prints,
});

export const bundlers: readonly Project[] = [
  webpack("node"),
  webpack("web"),
  viteServer("SSR", false),
  viteServer("SSR, with the SDK in the bundle", true),
  {
    part: "bundlers",
    of: "vite",
    how: "client",
    install: [sdk, "vite"],
    files: {
      ...files,
      "index.html": '<script type="module" src="/main.mjs"></script>\n',
      "vite.config.mjs": "export default { build: { modulePreload: false } };\n",
    },
    run: "vite build && node dist/assets/index-*.js",
    prints,
    quick: true,
  },
  {
    part: "bundlers",
    of: "esbuild",
    install: [sdk, "esbuild"],
    files,
    run: "esbuild main.mjs --bundle --format=esm --platform=node --outfile=out.js && node out.js",
    prints,
  },
  {
    part: "bundlers",
    of: "esbuild",
    how: "pages in a bundle, without their packages beside it",
    install: [sdk, "@workspace-tasks/mock-server", "@workspace-tasks/receiver-kit", "esbuild"],
    files: { "main.mjs": program("bundled-pages.mjs") },
    run: "esbuild main.mjs --bundle --platform=node --outfile=out.cjs && rm -r node_modules/@workspace-tasks && node out.cjs",
    prints: /200 200 true[\s\S]*503 [^\n]*out of the bundle/,
  },
  {
    part: "bundlers",
    of: "esbuild",
    how: "for browsers",
    install: [sdk, "esbuild"],
    files,
    run: "esbuild main.mjs --bundle --format=esm --minify --outfile=out.js && node out.js",
    prints,
  },
  {
    part: "bundlers",
    of: "rollup",
    install: [sdk, "rollup", "@rollup/plugin-node-resolve"],
    files,
    run: "rollup main.mjs --plugin node-resolve --file out.js --inlineDynamicImports && node out.js",
    prints,
  },
  {
    part: "bundlers",
    of: "@vercel/ncc",
    install: [sdk, "@vercel/ncc"],
    files,
    run: "ncc build main.mjs && node dist/index.mjs",
    prints,
  },
];
