// One RabbitMQ server for all test files of a run, started by the first test that asks for it: starting one takes several
// seconds of processor time. Tests keep apart by the names of their queues.
import { createServer } from "node:http";
import { listen } from "./listen.ts";
import { RabbitmqCluster } from "./rabbitmq.ts";

export interface SharedRabbitmq extends AsyncDisposable {
  readonly origin: string;
}

/** For the global set-up: the server that starts the broker at the first request. */
export async function shareRabbitmq(): Promise<SharedRabbitmq> {
  let started: Promise<RabbitmqCluster> | undefined;
  const server = await listen(
    createServer(async (_request, response) => {
      started ??= RabbitmqCluster.start();
      try {
        response.end(JSON.stringify((await started).urls));
      } catch (error) {
        response.writeHead(500).end(String(error));
      }
    }),
  );
  return {
    origin: server.origin,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await (await started?.catch(() => undefined))?.[Symbol.asyncDispose]();
    },
  };
}
