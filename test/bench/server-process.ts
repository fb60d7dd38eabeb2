import { forkProcess } from "./fork-process.ts";
import type { ServerMessage } from "./servers/serve.ts";

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

/** @param file below `test/bench/`; speaks the protocol of `servers/serve.ts` */
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
