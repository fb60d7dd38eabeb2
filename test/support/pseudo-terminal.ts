import { execFile, spawnSync } from "node:child_process";
import { promisify } from "node:util";

/** Why no program can be run on a pseudo-terminal: `script` of util-linux does that. */
export function pseudoTerminalMissing(): string | undefined {
  const { stdout } = spawnSync("script", ["--version"], { encoding: "utf8" });
  return stdout?.includes("util-linux") ? undefined : "no program script of util-linux";
}

const run = promisify(execFile);

/** What node prints on a terminal of this many columns, stdout and stderr as they come. */
export async function runOnTerminal(
  args: readonly string[],
  columns: number,
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const quoted = [process.execPath, ...args].map((arg) => `'${arg.replaceAll("'", "'\\''")}'`);
  const command = `stty cols ${columns}; ${quoted.join(" ")}`;
  const { NO_COLOR: _, ...own } = process.env;
  const options = { env: { ...own, TERM: "xterm", ...env } };
  const { stdout } = await run("script", ["-qec", command, "/dev/null"], options);
  return stdout.replaceAll("\r\n", "\n");
}
