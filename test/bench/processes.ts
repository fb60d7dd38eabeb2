import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { ServerMessage } from "./parent.ts";

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
    execArgv: ["--import", "tsx"],
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

/** A server in its own process. */
export interface ServerProcess extends AsyncDisposable {
  readonly port: number;
  /** Of the mock. */
  readonly workspaceToken: string | undefined;
  /** CPU time of the whole process so far. */
  cpuUs(): Promise<number>;
  /** Operations done so far. */
  count(): Promise<number>;
}

/** @param file below `test/bench/`; calls `reportServer` of `parent.ts` */
export async function startServer(file: string, ...args: readonly string[]): Promise<ServerProcess> {
  const server = await forkProcess(file, args, { NODE_ENV: "production" });
  const { port = Number.NaN, workspaceToken } = server.ready as ServerMessage;
  const ask = async (question: keyof ServerMessage) =>
    Number(((await server.request(question)) as ServerMessage)[question]);
  return {
    port,
    workspaceToken,
    cpuUs: () => ask("cpuUs"),
    count: () => ask("count"),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}
