import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import path from "node:path";
import { rolldown } from "rolldown";
import { receiverProgram } from "../support/killable-receiver.ts";

const root = path.resolve(import.meta.dirname, "../..");

/**
 * A receiver's program and the sources of the receiver kit in one file, which starts in a quarter of the time: a round
 * starts as many processes as it kills. Disposing deletes the file.
 */
export async function bundleReceiver(
  input = receiverProgram,
): Promise<Disposable & { readonly program: readonly string[] }> {
  // Inside the repository, so that the file finds its packages.
  mkdirSync(path.join(root, ".tmp"), { recursive: true });
  const folder = mkdtempSync(path.join(root, ".tmp/crash-"));
  const bundle = await rolldown({
    cwd: root,
    input,
    platform: "node",
    external: (id) => !/^[./]|^workspace-tasks\//.test(id),
    resolve: { conditionNames: ["workspace-tasks-source", "node", "import"] },
    tsconfig: "tsconfig.json",
  });
  await bundle.write({ dir: folder, entryFileNames: "receiver.mjs" });
  await bundle.close();
  return {
    program: [path.join(folder, "receiver.mjs")],
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}
