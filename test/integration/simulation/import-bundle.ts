import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { isAbsolute, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { rolldown } from "rolldown";

export interface Bundle<Module> extends Disposable {
  readonly module: Module;
}

const root = resolve(import.meta.dirname, "../../..");

/**
 * Bundles a source of this repository with everything of the repository that it imports, and imports the result.
 *
 * @param entry from the root of the repository
 * @param sources texts that replace those of the files at these absolute paths
 */
export async function importBundle<Module>(
  entry: string,
  sources: ReadonlyMap<string, string> = new Map(),
): Promise<Bundle<Module>> {
  // Inside the repository, so that the bundle finds its packages.
  mkdirSync(join(root, ".tmp"), { recursive: true });
  const folder = mkdtempSync(join(root, ".tmp/bundle-"));
  const dispose = () => rmSync(folder, { recursive: true, force: true });
  try {
    const file = join(folder, "bundle.mjs");
    const build = await rolldown({
      input: join(root, entry),
      cwd: root,
      platform: "node",
      external: (id) => !id.startsWith(".") && !isAbsolute(id) && !isOwn.test(id),
      resolve: { conditionNames: ["workspace-tasks-source", "node", "import"] },
      plugins: [{ name: "replaced-sources", load: (id) => sources.get(id) }],
      transform: { target: "node20.19" },
    });
    await build.write({ file, format: "esm", codeSplitting: false });
    await build.close();
    const module = (await import(/* @vite-ignore */ pathToFileURL(file).href)) as Module;
    return { module, [Symbol.dispose]: dispose };
  } catch (error) {
    dispose();
    throw error;
  }
}

/** The package's own names, and what the bundler adds for syntax that Node 20 lacks. */
const isOwn = /^(workspace-tasks|@oxc-project)\//;
