import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import type { Server } from "node:net";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { listen } from "../listen.ts";

const serveScript = fileURLToPath(new URL("serve.ts", import.meta.url));
const pythonScript = fileURLToPath(new URL("python_receiver.py", import.meta.url));

export type ReceiverName = "kit" | "express-standardwebhooks" | "express-svix";

/** A receiver in a child process that runs `serve.ts`. */
export interface ServedReceiver extends RunningReceiver {
  /** Settles when the process has ended. */
  readonly ended: Promise<unknown>;
}

export function serveInProcess(name: ReceiverName, ...secrets: string[]): Promise<ServedReceiver> {
  const { NODE_ENV: _, ...env } = process.env;
  const args = ["--conditions=workspace-tasks-source", "--import", "tsx", serveScript, name, ...secrets];
  return running(spawn(process.execPath, args, { stdio: ["ignore", "pipe", "ignore"], env }));
}

/** A receiver on Python's standard library. `bodyTimeoutSeconds` is how long it waits for a stalled body. */
export function startPythonReceiver(
  secret: string,
  bodyTimeoutSeconds: number,
  flaw?: "serializes-the-body-again",
): Promise<RunningReceiver> {
  const args = [pythonScript, secret, String(bodyTimeoutSeconds), ...(flaw ? [flaw] : [])];
  return running(spawn("python3", args, { stdio: ["ignore", "pipe", "ignore"] }));
}

/** The version of `python3`, or the reason why it cannot be used. */
export function findPython(): { readonly version: string } | { readonly missing: string } {
  const { error, status, stdout, stderr } = spawnSync("python3", ["--version"], { encoding: "utf8" });
  // A folder on the PATH that may not be read turns ENOENT into EACCES.
  if (error) return { missing: "python3 cannot be started" };
  if (status !== 0) return { missing: `python3 ended with ${stderr.trim() || `exit code ${status}`}` };
  return { version: stdout.trim() };
}

async function running(child: ChildProcess): Promise<ServedReceiver> {
  if (!child.stdout) throw new Error("the receiver has no standard output");
  const ended = once(child, "exit");
  const line = once(createInterface(child.stdout), "line");
  const first: unknown[] = await Promise.race([line, ended]);
  const [printed] = first;
  if (typeof printed !== "string")
    throw new Error(`the receiver ended with ${first.join(" ")} before it listened`);
  const { url, observeUrl } = JSON.parse(printed) as { url: string; observeUrl: string };
  return {
    url,
    observeUrl,
    ended,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}

/** A receiver on a free port until it is disposed. */
export interface RunningReceiver extends AsyncDisposable {
  readonly url: string;
  /** Returns the effects of a delivery. */
  readonly observeUrl: string;
}

export async function serveReceiver(server: Server): Promise<RunningReceiver> {
  const listening = await listen(server);
  return { ...listening, url: `${listening.origin}/webhooks`, observeUrl: `${listening.origin}/effects` };
}
