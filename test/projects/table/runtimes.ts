// The SDK alone on each runtime. They come from npm, where each is a package with its program.
import { type Project, program } from "../project.ts";

const files = {
  "with-import.mjs": program("with-import.mjs"),
  "with-require.cjs": `const sdk = require("@workspace-tasks/sdk");
void import("./walk.mjs").then(async ({ walk }) => console.log(await walk(sdk, process.env)));
`,
  "walk.mjs": program("walk.mjs"),
};
const both = (command: string) => `${command} with-import.mjs && ${command} with-require.cjs`;
const passed = (times: number) => new RegExp(`(all steps passed\\s+){${times}}`);

const runtime = (of: string, spec: string, run: string, times: number, quick = false): Project => ({
  part: "runtimes",
  of,
  install: ["@workspace-tasks/sdk", spec],
  files,
  run,
  prints: passed(times),
  ...(quick && { quick }),
});

// Node resolves `require` as Jest and bundlers do, to the CommonJS build, where it cannot require an ES module.
const node = `${both("node")} && node --no-experimental-require-module with-require.cjs`;

export const runtimes: readonly Project[] = [
  runtime("node", "node@20.19.0", node, 3, true),
  runtime("node", "node@22", node, 3),
  runtime("node", "node@24", node, 3),
  runtime("node", "node@latest", node, 3),
  runtime("bun", "bun", both("bun"), 2),
  runtime("deno", "deno", both("deno run -A"), 2),
  {
    part: "runtimes",
    of: "workerd",
    install: ["@workspace-tasks/sdk", "workerd", "esbuild"],
    files: {
      "worker.mjs": program("worker.mjs"),
      "walk.mjs": program("walk.mjs"),
      "worker.capnp": program("worker.capnp"),
    },
    serve:
      "esbuild worker.mjs --bundle --format=esm --external:node:* --conditions=workerd --outfile=bundle.mjs && exec workerd serve worker.capnp --socket-addr http=127.0.0.1:$PORT",
    uses: async ({ origin }) => {
      const text = await (await fetch(`${origin}/walk`)).text();
      if (text !== "all steps passed") throw new Error(text);
    },
  },
];
