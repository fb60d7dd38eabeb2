// One RabbitMQ server and one PostgreSQL server for all test files of a run, each started by the first test that asks for
// it: starting one takes seconds of processor time. Tests use queues and databases with names of their own. What they
// need is imported then too, because most runs of a single file need none of it.
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import path from "node:path";
import { listen } from "./listen.ts";
import { probe, programs } from "./programs.ts";

/** What `GET /postgres` returns. */
export interface SharedPostgres {
  readonly port: number;
  /** Data of a server that has never run: a copy takes a tenth of the time of creating them. */
  readonly template: string;
}

export interface SharedServers extends AsyncDisposable {
  /**
   * `GET /rabbitmq` returns the URLs of the nodes, `GET /postgres` a `SharedPostgres`, `GET /missing/<program>` why the
   * program cannot be used, or null.
   */
  readonly origin: string;
  /** The programs that were asked for and cannot be used, with the reason. */
  missing(): Promise<readonly (readonly [program: string, reason: string])[]>;
}

/** For the global set-up. */
export async function shareServers(): Promise<SharedServers> {
  const started = new Map<string, Promise<Started>>();
  const starts: Readonly<Record<string, () => Promise<Started>>> = {
    "/rabbitmq": startRabbitmq,
    "/postgres": startPostgres,
    ...Object.fromEntries(
      programs.map((program) => [
        `/missing/${program}`,
        async () => ({ value: await probe(program), end: async () => {} }),
      ]),
    ),
  };
  const server = await listen(
    createServer(async ({ url = "" }, response) => {
      const begun = started.get(url) ?? starts[url]?.();
      if (begun) started.set(url, begun);
      try {
        response.end(JSON.stringify((await begun)?.value));
      } catch (error) {
        response.writeHead(500).end(String(error));
      }
    }),
  );
  return {
    origin: server.origin,
    async missing() {
      const asked = [...started].filter(([url]) => url.startsWith("/missing/"));
      const found = asked.map(async ([url, begun]) => {
        const { value } = await begun.catch(() => ({ value: null }));
        return typeof value === "string" ? [[url.slice("/missing/".length), value] as const] : [];
      });
      return (await Promise.all(found)).flat();
    },
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      for (const begun of started.values()) await (await begun.catch(() => undefined))?.end();
    },
  };
}

interface Started {
  readonly value: SharedPostgres | readonly string[] | string | null;
  end(): Promise<void>;
}

async function startRabbitmq(): Promise<Started> {
  const { RabbitmqCluster } = await import("./rabbitmq.ts");
  const cluster = await RabbitmqCluster.start();
  return { value: cluster.urls, end: () => cluster[Symbol.asyncDispose]() };
}

async function startPostgres(): Promise<Started> {
  const { copyTemplate, initialiseEmpty, PostgresServer, undurable } = await import("./postgres.ts");
  const { findPostgres } = await import("./postgres-binaries.ts");
  const binaries = findPostgres();
  if ("missing" in binaries) throw new Error(binaries.missing);
  const template = mkdtempSync(path.join(binaries.temporaryDirectory, "workspace-tasks-template-"));
  await initialiseEmpty(binaries, template);
  const server = await PostgresServer.start({
    // Pools of several workers are open at a time.
    settings: [...undurable, "max_connections=400"],
    initialise: copyTemplate(template),
  });
  return {
    value: { port: server.port, template },
    async end() {
      await server[Symbol.asyncDispose]();
      rmSync(template, { recursive: true, force: true });
    },
  };
}
