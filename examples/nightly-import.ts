// Imports the clients of a CSV file with their documents, and continues where it was killed when it is run again.
//
//   nightly-import [clients.csv] [folder of documents] [journal] [--import-changed]
//
// Exit code: 0 nothing is left to do, 1 look at the clients that are printed, 2 the import ended before; run it again.

import { createReadStream } from "node:fs";
import { readdir } from "node:fs/promises";
import { extname, join } from "node:path";
import {
  createClient,
  fileJournal,
  type ImportClient,
  type ImportProgress,
  isWorkspaceTasksError,
  type WorkspaceTasksClient,
} from "@workspace-tasks/sdk";
import { parse } from "csv-parse";

const samples = join(import.meta.dirname, "nightly-import");
const args = process.argv.slice(2).filter((arg) => !arg.startsWith("--"));
const [clientsFile = join(samples, "clients.csv"), documents = join(samples, "documents"), journalFile] =
  args;
const onChanged = process.argv.includes("--import-changed") ? "import" : "report";

// #region clients
/** A line of the file is a client: `externalId,name,folder`. The lines are read as the import needs them. */
async function* readClients(): AsyncGenerator<ImportClient> {
  const lines = createReadStream(clientsFile).pipe(parse({ columns: true, bom: true }));
  for await (const { externalId, name, folder } of lines) {
    yield { externalId, name, artifacts: await documentsIn(folder) };
  }
}

const mimeTypes: Record<string, string> = { ".pdf": "application/pdf", ".jpg": "image/jpeg" };

async function documentsIn(folder: string) {
  const names = await readdir(join(documents, folder));
  return names.sort().map((name) => ({
    name,
    type: name.replace(extname(name), ""),
    externalId: `${folder}/${name}`,
    file: join(documents, folder, name),
    mimeType: mimeTypes[extname(name)] ?? "application/octet-stream",
  }));
}

// #endregion

/** The connection to the partner's platform, which exists in production. */
async function connectionOf(client: WorkspaceTasksClient): Promise<string> {
  const given = process.env["WORKSPACE_TASKS_CONNECTION_ID"];
  if (given) return given;
  const me = await client.me();
  if (me.__typename !== "WorkspaceUser") throw new Error("the API key belongs to no workspace");
  const { connections } = client.partner;
  const inputs = { apiKey: "platform-key" };
  const started = await connections.start({
    workspaceId: me.workspace.id,
    providerKey: "acme-portal",
    inputs,
  });
  return (await connections.collect(started.id)).id;
}

/** A line at most every ten seconds. */
function createReporter() {
  let printedAt = Date.now();
  return ({ counts: { open, ...settled } }: ImportProgress) => {
    if (Date.now() - printedAt < 10_000) return;
    printedAt = Date.now();
    const done = Object.values(settled).reduce((sum, count) => sum + count);
    console.log(`${done} of ${done + open} clients that were read`);
  };
}

await using client = createClient({
  baseUrl: process.env["WORKSPACE_TASKS_BASE_URL"] ?? "http://127.0.0.1:4010",
  gatewayUrl: process.env["WORKSPACE_TASKS_GATEWAY_URL"] ?? "http://127.0.0.1:4010/gateway",
  apiKey: process.env["WORKSPACE_TASKS_API_KEY"],
});

// Ctrl-C ends the import in order; `kill -9` is no different for the journal.
const stop = new AbortController();
process.once("SIGINT", () => stop.abort()).once("SIGTERM", () => stop.abort());

try {
  const connectionId = await connectionOf(client);
  // #region import
  const result = await client.partner.imports.start({
    connectionId,
    jobName: "Returns of 2025",
    clients: readClients(),
    // One for each connection, for every night.
    journal: fileJournal(journalFile ?? `${connectionId}.journal`),
    onChanged,
    onProgress: createReporter(),
    signal: stop.signal,
  });
  // For those to look at: changed, failed and undecided.
  for (const { status, error } of result.clients()) {
    if (error) console.error(`${status}: ${error.message}`);
  }
  const { imported, unchanged, exists, changed, failed, undecided } = result.counts;
  console.log(
    `${imported} imported, ${unchanged + exists} were there, ${changed + failed + undecided} to look at`,
  );
  // #endregion
  process.exitCode = changed + failed + undecided > 0 ? 1 : 0;
} catch (error) {
  if (!isWorkspaceTasksError(error)) throw error;
  console.error(`${error.code}: ${error.message}\nrun it again to continue`);
  process.exitCode = 2;
}
