// Servers and programs that a test process has started end with it, also when SIGKILL ends it and while they are stopped.

import { type ChildProcess, spawn } from "node:child_process";
import type { Writable } from "node:stream";

/**
 * Reads `+ pid folder` and `- pid`. When its input ends, the process that wrote it has ended: what is left is killed, with its
 * group and its children (stopped ones must continue to notice that their parent has ended), and its folder is deleted.
 */
const script = `
entries=
while read -r sign pid folder; do
  entries=$(printf '%s\\n' "$entries" | while read -r known rest; do
    [ -z "$known" ] || [ "$known" = "$pid" ] || printf '%s %s\\n' "$known" "$rest"
  done)
  [ "$sign" = - ] || entries="$entries
$pid $folder"
done
printf '%s\\n' "$entries" | while read -r pid folder; do
  [ -n "$pid" ] || continue
  children=$(ps -A -o pid= -o ppid= | while read -r child parent; do [ "$parent" != "$pid" ] || echo "$child"; done)
  kill -s KILL -- "-$pid" || kill -s KILL "$pid"
  for child in $children; do kill -s CONT "$child"; done
  [ -z "$folder" ] || rm -rf "$folder"
done 2> /dev/null
`;

let watcher: Writable | undefined;

function startWatcher(): Writable {
  const child = spawn("sh", ["-c", script], { stdio: ["pipe", "ignore", "ignore"], detached: true });
  child.unref();
  const input = child.stdin as Writable & { unref(): void };
  input.on("error", () => {});
  input.unref();
  return input;
}

/** @param folder is deleted when this process ends before the child does */
export function endWithThisProcess(child: ChildProcess, folder = ""): void {
  const { pid } = child;
  if (pid === undefined) return;
  if (process.platform === "win32") {
    const end = () => child.kill();
    process.once("exit", end);
    child.once("exit", () => process.off("exit", end));
    return;
  }
  watcher ??= startWatcher();
  watcher.write(`+ ${pid} ${folder}\n`);
  child.once("exit", () => watcher?.write(`- ${pid}\n`));
}
