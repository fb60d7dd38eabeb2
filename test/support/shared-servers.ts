// One RabbitMQ server and one PostgreSQL server for all test files of a run, each started by the first test that asks for
// it: starting one takes seconds of processor time. Tests use queues and databases with names of their own. What they
// need is imported then too, because most runs of a single file need none of it.

import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import path from "node:path";
import type { TestProject } from "vitest/node";
import type { DebianProgram } from "./debian-programs.ts";
import { listen } from "./listen.ts";

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
  const { copyTemplate, findPostgres, initialiseEmpty, PostgresServer, undurable } = await import(
    "./postgres.ts"
  );
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

// Programs that some tests need. The tests of a missing one are skipped, and the end of a run says so; with
// WORKSPACE_TASKS_TESTS=all, as in CI, the test files that need it fail. Each is looked for when a test file first asks: to
// look for all takes seconds.

type Found = object | { readonly missing: string };

const reasonOf = (found: Found) => ("missing" in found ? String(found.missing) : undefined);

const missingOfDebian = async (name: DebianProgram) =>
  reasonOf((await import("./debian-programs.ts")).findDebianProgram(name));

const probes = {
  postgres: async () => reasonOf((await import("./postgres.ts")).findPostgres()),
  rabbitmq: async () => reasonOf((await import("./rabbitmq.ts")).findRabbitmq()),
  python: async () => reasonOf((await import("./receivers/served-receiver.ts")).findPython()),
  promtool: () => missingOfDebian("promtool"),
  nginx: () => missingOfDebian("nginx"),
  systemd: () => missingOfDebian("systemd-analyze"),
  pseudoTerminal: async () => (await import("./debian-programs.ts")).pseudoTerminalMissing(),
  chromium: async () => (await import("../system/browser/support/chromium.ts")).chromiumMissing(),
} satisfies Readonly<Record<string, () => Promise<string | undefined>>>;

export type Program = keyof typeof probes;
const programs = Object.keys(probes) as readonly Program[];

/** Why the program cannot be used; `null` when it can. */
async function probe(program: Program): Promise<string | null> {
  const missing = await probes[program]();
  if (missing === undefined) return null;
  if (process.env["WORKSPACE_TASKS_TESTS"] === "all") throw new Error(`${program}: ${missing}`);
  return missing;
}

declare module "vitest" {
  interface ProvidedContext {
    /** Where a test file asks for programs, and for the servers that all files share. */
    sharedServers: string;
  }
}

export default async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  const shared = await shareServers();
  provide("sharedServers", shared.origin);
  return async () => {
    for (const [program, reason] of await shared.missing())
      console.log(`not run: the tests that need ${program}: ${reason}`);
    await shared[Symbol.asyncDispose]();
  };
}
