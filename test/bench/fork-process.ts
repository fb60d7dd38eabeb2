import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

/** A file of `test/bench/` in its own process. It sends one message when it is ready, and one for each request. */
export interface ForkedProcess extends AsyncDisposable {
  readonly ready: unknown;
  request(message: string | object): Promise<unknown>;
}

export async function forkProcess(
  file: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<ForkedProcess> {
  const child = fork(join(import.meta.dirname, file), args, {
    execArgv: file.endsWith(".ts") ? ["--import", "tsx"] : [],
    env: { ...process.env, ...env },
  });
  const message = () =>
    new Promise((resolve, reject) => {
      const onMessage = (received: unknown) => {
        child.off("exit", onExit);
        resolve(received);
      };
      const onExit = (code: number | null, signal: string | null) => {
        child.off("message", onMessage);
        reject(new Error(`${[file, ...args].join(" ")} exited with ${signal ?? code}`));
      };
      child.once("message", onMessage).once("exit", onExit);
    });
  return {
    ready: await message(),
    request(body) {
      child.send(body);
      return message();
    },
    async [Symbol.asyncDispose]() {
      const exited = once(child, "exit");
      child.kill("SIGKILL");
      await exited;
    },
  };
}
