import { argv } from "node:process";
import { createClient, fileJournal, type ImportClient, isWorkspaceTasksError } from "@workspace-tasks/sdk";

// Imports clients with three documents each from a service that responds at once, and prints what it took.

export interface ImportProcessInput {
  readonly journalPath: string;
  readonly clients: number;
}

export interface ImportProcessOutput {
  readonly imported: number;
  readonly unchanged: number;
  /** Live memory at the end, with the result. */
  readonly heapBytes: number;
  readonly cpuMs: number;
  readonly requests: number;
  readonly error?: string;
}

const input = JSON.parse(argv[2] ?? "{}") as ImportProcessInput;
let requests = 0;
let ids = 0;
const newId = () => `019bc186-e5d0-7000-8000-${String(++ids).padStart(12, "0")}`;

const responses: Readonly<Record<string, (variables: { inputs: readonly unknown[] }) => unknown>> = {
  ExchangeApiKey: () => ({
    exchangeSurfaceRefreshTokenForAccessTokens: { workspaceToken: "token", userToken: "t" },
  }),
  Me: () => ({ me: { __typename: "WorkspaceUser", id: "m", workspace: { id: "workspace" } } }),
  ListClients: () => ({ me: { __typename: "WorkspaceUser", workspace: { clients: [] } } }),
  CreateConnectionJob: () => ({ createConnectionJob: { id: newId(), workspaceId: "workspace" } }),
  CreateJobWorks: ({ inputs }) => ({ createJobWorks: inputs.map(() => ({ id: newId(), workId: newId() })) }),
  CreateJobWorkArtifacts: () => ({ createJobWorkArtifacts: [] }),
  InitiateTaxPrepsImport: () => ({ initiateTaxPrepsImport: { id: "job" } }),
};

async function respond(_: URL | string, init: { readonly body?: unknown }): Promise<Response> {
  const { query, variables } = JSON.parse(String(init.body)) as { query: string; variables: { inputs: [] } };
  requests += 1;
  const name = /(?:mutation|query) (\w+)/.exec(query)?.[1] ?? "";
  return Response.json({ data: responses[name]?.(variables) });
}

function* clients(): Generator<ImportClient> {
  for (let index = 0; index < input.clients; index++) {
    const artifacts = [1, 2, 3].map((number) => ({
      name: `${number}.pdf`,
      type: "w2",
      externalId: `document-${index}-${number}`,
      url: `https://files.example/${index}/${number}.pdf`,
    }));
    yield { externalId: `client-${String(index).padStart(8, "0")}`, name: `Client ${index}`, artifacts };
  }
}

const client = createClient({
  apiKey: "key-1234567890",
  baseUrl: "https://service.example",
  gatewayUrl: "https://gateway.example",
  rateLimit: false,
  fetch: respond,
});
const cpuBefore = process.cpuUsage();

async function run(): Promise<ImportProcessOutput> {
  try {
    const result = await client.partner.imports.start({
      connectionId: "connection",
      jobName: "Job",
      clients: clients(),
      journal: fileJournal(input.journalPath),
      worksPerJob: 1_000,
      concurrency: 64,
    });
    (globalThis as { gc?: () => void }).gc?.();
    const { user, system } = process.cpuUsage(cpuBefore);
    const { heapUsed, external } = process.memoryUsage();
    const { imported, unchanged } = result.counts;
    return { imported, unchanged, heapBytes: heapUsed + external, cpuMs: (user + system) / 1_000, requests };
  } catch (error) {
    const code = isWorkspaceTasksError(error) ? error.code : String(error);
    return { imported: 0, unchanged: 0, heapBytes: 0, cpuMs: 0, requests, error: code };
  }
}

process.stdout.write(`${JSON.stringify(await run())}\n`);
