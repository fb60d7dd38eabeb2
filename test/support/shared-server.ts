import { inject } from "vitest";
import { copyTemplate, PostgresDatabases, PostgresServer, undurable } from "./postgres.ts";
import type { Program, SharedPostgres } from "./shared-servers.ts";

/** `amqp://` URL of the server that all test files share; the first call of a run starts it. */
export async function sharedRabbitmqUrl(): Promise<string> {
  const [url] = (await askShared("/rabbitmq")) as readonly [string];
  return url;
}

/** The server that all test files share. A test that stops or configures its server starts one of its own. */
export async function sharedPostgres(): Promise<PostgresDatabases> {
  const { port } = (await askShared("/postgres")) as SharedPostgres;
  return new PostgresDatabases(port);
}

/** A server for one test file. */
export async function ownPostgres(): Promise<PostgresServer> {
  const initialise = copyTemplate(await postgresTemplate());
  return PostgresServer.start({ initialise, settings: undurable });
}

/** A directory with the data of a server that has never run. */
export async function postgresTemplate(): Promise<string> {
  return ((await askShared("/postgres")) as SharedPostgres).template;
}

/** Asks the process that runs the test files. */
export async function askShared(path: string): Promise<unknown> {
  const response = await fetch(`${inject("sharedServers")}${path}`);
  if (!response.ok) throw new Error(await response.text());
  return response.json();
}

/**
 * Why a program cannot be used on this machine; undefined when it can. Looked for once per run, by the first test file
 * that asks.
 *
 * @throws Error when it is missing and WORKSPACE_TASKS_TESTS=all, as in CI
 */
export const missingProgram = async (program: Program): Promise<string | undefined> =>
  ((await askShared(`/missing/${program}`)) as string | null) ?? undefined;
