import { execFile } from "node:child_process";
import { promisify } from "node:util";

/** URLs of every module that a process loads while it runs `script`, an ES module. */
export async function loadedModules(script: string): Promise<readonly string[]> {
  const hooks = `export async function load(url, context, next) {
    process.stdout.write(url + "\\n");
    return next(url, context);
  }`;
  const registered = `
    import { register } from "node:module";
    register("data:text/javascript," + encodeURIComponent(${JSON.stringify(hooks)}));
    ${script}`;
  const args = [
    "--conditions=workspace-tasks-source",
    "--import",
    "tsx",
    "--input-type=module",
    "-e",
    registered,
  ];
  const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 16 * 1_048_576 });
  return stdout.split("\n");
}
