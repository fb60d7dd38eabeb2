import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { rolldown } from "rolldown";

const root = path.resolve(import.meta.dirname, "../..");
const bundles = new Map<string, Promise<readonly string[]>>();

/**
 * Arguments of node for a program and the sources that it imports in one file, which starts in a quarter of the time.
 * Bundled once per process, and deleted when that exits.
 *
 * @param project a folder whose `node_modules` has the package that the program is to use instead of the sources
 */
export function bundledProgram(entry: string, project?: string): Promise<readonly string[]> {
  const name = JSON.stringify([entry, project]);
  const program = bundles.get(name) ?? bundle(entry, project);
  bundles.set(name, program);
  return program;
}

/** The text of a specifier that imports a source of this repository, bundled, in a module of another process. */
export async function bundledModule(entry: string): Promise<string> {
  const [file = ""] = await bundledProgram(entry);
  return JSON.stringify(pathToFileURL(file).href);
}

async function bundle(input: string, project: string | undefined): Promise<readonly string[]> {
  const folder = project ?? createFolder();
  const built = await rolldown({
    cwd: root,
    input,
    platform: "node",
    // Also what the bundler adds for syntax that Node 20 lacks.
    external: (id) => !(project === undefined ? /^[./]|^workspace-tasks\/|^@oxc-/ : /^[./]|^@oxc-/).test(id),
    transform: { target: "node20.19" },
    resolve: { conditionNames: ["workspace-tasks-source", "node", "import"] },
    tsconfig: "tsconfig.json",
  });
  await built.write({ dir: folder, entryFileNames: "program.mjs" });
  await built.close();
  return [path.join(folder, "program.mjs")];
}

/** Inside the repository, so that the file finds its packages. */
function createFolder(): string {
  mkdirSync(path.join(root, ".tmp"), { recursive: true });
  const folder = mkdtempSync(path.join(root, ".tmp/program-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
