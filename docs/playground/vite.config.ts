// The playground as a folder that any server can serve, below any path.
import { join, resolve } from "node:path";
import { mergeConfig, type Plugin } from "vite";
import inspector from "../../mock-server/inspector/page/vite.config.ts";

const folder = import.meta.dirname;
const receiverKit = resolve(folder, "../../receiver-kit");

/** The receiver kit finds its modules of Node in `worker/node`; nothing else may import one. */
export const receiverKitPlatform = (): Plugin => ({
  name: "receiver-kit-platform",
  enforce: "pre",
  resolveId(id, importer) {
    if (!id.startsWith("node:")) return null;
    if (importer?.startsWith(receiverKit)) return join(folder, `worker/node/${id.slice("node:".length)}.ts`);
    return this.error(`${importer} imports ${id}, which a browser does not have`);
  },
});

export default mergeConfig(inspector, {
  root: folder,
  // The package `buffer` and not the module of Node that browsers lack.
  resolve: { alias: { buffer: resolve(folder, "../../node_modules/buffer/index.js") } },
  build: {
    outDir: resolve(folder, "../../.tmp/playground"),
    rolldownOptions: {
      input: { playground: join(folder, "index.html"), inspector: join(folder, "inspector/index.html") },
    },
  },
  worker: { format: "es", plugins: () => [receiverKitPlatform()] },
});
