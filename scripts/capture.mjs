import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

/** Runs a command. Resolves with what it wrote, and with its exit code, its signal or why it did not start. */
export function capture(command, args, options = {}) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"], ...options });
    const written = { stdout: "", output: "" };
    for (const stream of [child.stdout, child.stderr]) {
      createInterface({ input: stream }).on("line", (line) => {
        if (stream === child.stdout) written.stdout += `${line}\n`;
        written.output += `${line}\n`;
      });
    }
    // What it has started may outlive it, after a time limit for example, and keep the pipes open. What it has written is
    // read by then, on a busy machine too.
    const pipesOpenMs = 10_000;
    child.once("exit", () => {
      const timer = setTimeout(() => {
        child.stdout.destroy();
        child.stderr.destroy();
      }, pipesOpenMs);
      child.once("close", () => clearTimeout(timer));
    });
    child.once("error", (error) => resolve({ code: error.message, ...written }));
    child.once("close", (code, signal) => resolve({ code: code ?? signal, ...written }));
  });
}
