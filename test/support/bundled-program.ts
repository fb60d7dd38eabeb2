import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import path from "node:path";
import { rolldown } from "rolldown";

const root = path.resolve(import.meta.dirname, "../..");
const bundles = new Map<string, Promise<readonly string[]>>();

/**
 * Arguments of node for a program and the sources that it imports in one file, which starts in a quarter of the time.
 * Bundled once per process, and deleted when that exits.
 */
export function bundledProgram(entry: string): Promise<readonly string[]> {
  const program = bundles.get(entry) ?? bundle(entry);
  bundles.set(entry, program);
  return program;
}

async function bundle(input: string): Promise<readonly string[]> {
  // Inside the repository, so that the file finds its packages.
  mkdirSync(path.join(root, ".tmp"), { recursive: true });
  const folder = mkdtempSync(path.join(root, ".tmp/program-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  const built = await rolldown({
    cwd: root,
    input,
    platform: "node",
    external: (id) => !/^[./]|^workspace-tasks\//.test(id),
    resolve: { conditionNames: ["workspace-tasks-source", "node", "import"] },
    tsconfig: "tsconfig.json",
  });
  await built.write({ dir: folder, entryFileNames: "program.mjs" });
  await built.close();
  return [path.join(folder, "program.mjs")];
}
