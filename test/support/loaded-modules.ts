import { execFile } from "node:child_process";
import { promisify } from "node:util";

const sources = ["--conditions=workspace-tasks-source", "--import", "tsx"];

/**
 * URLs of every module that a process loads while it runs `script`, an ES module.
 *
 * @param project a folder with packages; default: the sources of this repository
 */
export async function loadedModules(script: string, project?: string): Promise<readonly string[]> {
  const hooks = `export async function load(url, context, next) {
    process.stdout.write(url + "\\n");
    return next(url, context);
  }`;
  const registered = `
    import { register } from "node:module";
    register("data:text/javascript," + encodeURIComponent(${JSON.stringify(hooks)}));
    ${script}`;
  const args = [...(project ? [] : sources), "--input-type=module", "-e", registered];
  const { stdout } = await promisify(execFile)(process.execPath, args, {
    cwd: project,
    maxBuffer: 16 * 1_048_576,
  });
  return stdout.split("\n");
}
