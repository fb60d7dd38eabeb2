import type { MockServer, MockServerOptions } from "@workspace-tasks/mock-server";
import type {
  CreateClientOptions,
  ImportClient,
  ImportOptions,
  ImportResult,
  WorkspaceTasksClient,
} from "@workspace-tasks/sdk";
import { MemoryJournal } from "./memory-journal.ts";
import { createSdkFixture } from "./sdk-fixture.ts";

/** A mock with an active connection, and what was imported through it. */
export interface ImportFixture extends AsyncDisposable {
  readonly mock: MockServer;
  readonly connectionId: string;
  readonly jobName: string;
  /** A client on the mock's clock, closed with the fixture. */
  createClient(options?: Partial<CreateClientOptions>): WorkspaceTasksClient;
  /** Starts an import, and advances the clock until it has ended. */
  import(options: Partial<ImportOptions>, client?: WorkspaceTasksClient): Promise<ImportResult>;
  /** What is wrong with what the mock has, a sentence each: every client once, with each document once, or reported. */
  problems(
    result: ImportResult,
    clients: readonly ImportClient[],
    expected?: ExpectedImport,
  ): Promise<readonly string[]>;
}

export interface ExpectedImport {
  /** External ids that something else has used. */
  readonly used?: ReadonlySet<string>;
  /** Clients whose documents changed once: they may have two tasks, and not two with the same documents. */
  readonly changed?: ReadonlySet<string>;
}

export async function createImportFixture(
  options: MockServerOptions = {},
  clientOptions: Partial<CreateClientOptions> = {},
): Promise<ImportFixture> {
  const { mock, ...fixture } = await createSdkFixture("in-process", {
    mock: options,
    client: { random: () => 0.5, ...clientOptions },
  });
  const { connections } = fixture.createClient({ fetch: mock.fetch }).partner;
  const { id: connectionId } = await connections.start({
    workspaceId: mock.workspaceId,
    providerKey: "acme",
    inputs: {},
  });
  await connections.collect(connectionId);
  const jobName = "Returns of 2025";
  return {
    mock,
    connectionId,
    jobName,
    createClient: fixture.createClient,
    import(overrides, client = fixture.createClient()) {
      const journal = new MemoryJournal();
      const started = client.partner.imports.start({
        connectionId,
        jobName,
        clients: [],
        journal,
        ...overrides,
      });
      return mock.clock.runUntil(started);
    },
    problems: (result, input, expected = {}) => findProblems(mock, result, input, expected),
    [Symbol.asyncDispose]: fixture[Symbol.asyncDispose],
  };
}

/** Clients with documents of their own, by URL. */
export const clientsWithUrls = (count: number, artifacts: number): readonly ImportClient[] =>
  Array.from({ length: count }, (_, index) => ({
    externalId: `client-${index}`,
    name: `Client ${index}`,
    artifacts: Array.from({ length: artifacts }, (_, number) => ({
      name: `${index}-${number}.pdf`,
      type: "w2",
      externalId: `document-${index}-${number}`,
      url: `https://files.example/${index}/${number}.pdf`,
    })),
  }));

async function findProblems(
  mock: MockServer,
  result: ImportResult,
  input: readonly ImportClient[],
  { used, changed }: ExpectedImport,
): Promise<readonly string[]> {
  await mock.clock.advance("1m");
  const { state } = await mock.control.getSnapshot();
  const problems: string[] = [];
  const found = new Map([...result.clients()].map((client) => [client.externalId, client]));
  const documentsOf = (jobWorkId: string) =>
    state.artifacts
      .filter((artifact) => artifact.jobWorkId === jobWorkId && artifact.status === "uploaded")
      .map(({ externalId }) => externalId)
      .sort()
      .join();
  if (result.counts.open > 0) problems.push(`${result.counts.open} clients are open`);
  for (const { externalId, name, artifacts = [] } of input) {
    const client = found.get(externalId);
    const status = client?.status ?? "missing";
    // The name of a work stays the same under a derived external id.
    const works = state.jobWorks.filter((work) => work.name === name && work.taskId !== undefined);
    const isChanged = changed?.has(externalId) === true;
    // What others have started may have no documents yet.
    const given = works.map(({ id }) => documentsOf(id)).filter(Boolean);
    const isMore = works.length > (isChanged ? 2 : 1) || new Set(given).size < given.length;
    const mayHaveNone =
      status === "failed" || status === "undecided" || (status === "exists" && used?.has(externalId));
    if (isMore || (works.length === 0 && !mayHaveNone))
      problems.push(`${externalId} is ${status} and has ${works.length} tasks`);
    if (works.length > 0 && status === "failed" && !isChanged)
      problems.push(`${externalId} is failed and has a task`);
    if (status !== "imported" && status !== "unchanged") continue;
    const work = works.find(({ workId }) => workId === client?.workId);
    if (!work) problems.push(`${externalId} has another work`);
    const expected = artifacts.map((artifact) => artifact.externalId).sort();
    if (work && documentsOf(work.id) !== expected.join())
      problems.push(`${externalId} has the documents ${documentsOf(work.id)}`);
  }
  return problems;
}
