// The playground as a folder that any server can serve, below any path.
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { mergeConfig, type Plugin } from "vite";
import inspector from "../../mock-server/inspector/page/vite.config.ts";

const folder = import.meta.dirname;
const receiverKit = resolve(folder, "../../receiver-kit");

/** The texts of the licences must accompany every copy of the packages in the worker. */
const workerLicences = (): Plugin => ({
  name: "worker-licences",
  generateBundle(_, bundle) {
    const ids = Object.values(bundle).flatMap((file) => (file.type === "chunk" ? file.moduleIds : []));
    const folders = new Set(ids.flatMap((id) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id) ?? []));
    const texts = [...folders].map(licenceIn);
    this.emitFile({ type: "asset", fileName: "assets/licences-of-worker.txt", source: texts.join("\n\n") });
  },
});

function licenceIn(folder: string): string {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const file = readdirSync(folder).find((each) => /^licen[sc]e/i.test(each));
  return `## ${name} - ${version} (${license})\n\n${file ? readFileSync(join(folder, file), "utf8") : ""}`;
}

/** The receiver kit finds its modules of Node in `worker/node`; nothing else may import one. */
const receiverKitPlatform = (): Plugin => ({
  name: "receiver-kit-platform",
  enforce: "pre",
  resolveId(id, importer) {
    if (!id.startsWith("node:")) return null;
    if (importer?.startsWith(receiverKit))
      return join(folder, `worker/node/${id.slice("node:".length).replaceAll("_", "-")}.ts`);
    return this.error(`${importer} imports ${id}, which a browser does not have`);
  },
});

export default mergeConfig(inspector, {
  root: folder,
  build: {
    outDir: resolve(folder, "../../.tmp/playground"),
    rolldownOptions: {
      input: { playground: join(folder, "index.html"), inspector: join(folder, "inspector/index.html") },
    },
  },
  worker: {
    format: "es",
    plugins: () => [receiverKitPlatform(), workerLicences()],
    // Errors are named after their classes.
    rolldownOptions: { output: { keepNames: true }, checks: { ineffectiveDynamicImport: false } },
  },
});
