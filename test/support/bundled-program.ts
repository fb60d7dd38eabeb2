import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { rolldown } from "rolldown";

const root = path.resolve(import.meta.dirname, "../..");
const bundles = new Map<string, Promise<readonly string[]>>();
const folders: string[] = [];

/**
 * Arguments of node for a program and the sources that it imports in one file, which starts in a quarter of the time.
 * Bundled once per process, and deleted when that exits.
 *
 * @param project a folder whose `node_modules` has the package that the program is to use instead of the sources
 */
export function bundledProgram(entry: string, project?: string): Promise<readonly string[]> {
  const name = JSON.stringify([entry, project]);
  const program = bundles.get(name) ?? bundleProgram(entry, project);
  bundles.set(name, program);
  return program;
}

/** The text of a specifier that imports a source of this repository, bundled, in a module of another process. */
export async function bundledModule(entry: string): Promise<string> {
  const [file = ""] = await bundledProgram(entry);
  return JSON.stringify(pathToFileURL(file).href);
}

async function bundleProgram(entry: string, project: string | undefined): Promise<readonly string[]> {
  const file = path.join(project ?? createBundleFolder("program"), "program.mjs");
  await bundle({ entry, file, usesInstalled: project !== undefined });
  return [file];
}

interface BundleOptions {
  /** From the root of the repository, or absolute. */
  readonly entry: string;
  readonly file: string;
  /** Texts that replace those of the files at these absolute paths. */
  readonly sources?: ReadonlyMap<string, string>;
  /** Whether it imports the packages that are installed where `file` is. Default false: its sources, in the bundle. */
  readonly usesInstalled?: boolean;
}

/** Writes a source and all that it imports of this repository to one file. */
export async function bundle({ entry, file, sources, usesInstalled = false }: BundleOptions): Promise<void> {
  // Also what the bundler adds for syntax that Node 20 lacks; the kernel is installed with no package.
  const own = usesInstalled
    ? /^(@workspace-tasks\/kernel|@oxc-project)\//
    : /^(@?workspace-tasks|@oxc-project)\//;
  const built = await rolldown({
    cwd: root,
    input: path.resolve(root, entry),
    platform: "node",
    external: (id) => !id.startsWith(".") && !path.isAbsolute(id) && !own.test(id),
    transform: { target: "node20.19" },
    resolve: { conditionNames: ["workspace-tasks-source", "node", "import"] },
    plugins: [{ name: "replaced-sources", load: (id) => sources?.get(id) }],
  });
  await built.write({ file, format: "esm", codeSplitting: false });
  await built.close();
}

/** Inside the repository, so that the file finds its packages; deleted when this process exits. */
export function createBundleFolder(name: "program" | "bundle"): string {
  mkdirSync(path.join(root, ".tmp"), { recursive: true });
  const folder = mkdtempSync(path.join(root, `.tmp/${name}-`));
  if (folders.length === 0)
    process.once("exit", () => {
      for (const each of folders) rmSync(each, { recursive: true, force: true });
    });
  folders.push(folder);
  return folder;
}
