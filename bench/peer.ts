import { join } from "node:path";
import { pathToFileURL } from "node:url";

/**
 * Loads a file of `peers/`. Not an import statement: what those files import is installed by `npm run bench` only, and
 * the rest of the project is checked without it.
 */
export function loadPeer<Module>(name: string): Promise<Module> {
  return import(pathToFileURL(join(import.meta.dirname, "peers", `${name}.ts`)).href) as Promise<Module>;
}
