import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

/** Runs a command. Resolves with what it wrote, and with its exit code, its signal or why it did not start. */
export function capture(command, args, { onLine, ...options } = {}) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"], ...options });
    const written = { stdout: "", output: "" };
    for (const stream of [child.stdout, child.stderr]) {
      createInterface({ input: stream }).on("line", (line) => {
        if (stream === child.stdout) written.stdout += `${line}\n`;
        written.output += `${line}\n`;
        onLine?.(line);
      });
    }
    child.once("error", (error) => resolve({ code: error.message, ...written }));
    child.once("close", (code, signal) => resolve({ code: code ?? signal, ...written }));
  });
}
