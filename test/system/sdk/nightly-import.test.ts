import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { createMockServer, type MockServer } from "@workspace-tasks/mock-server";
import { createClient } from "@workspace-tasks/sdk";
import { expect, it } from "vitest";
import { bundledProgram } from "../../support/bundled-program.ts";
import { RunningProgram } from "../../support/running-program.ts";

const names = Array.from({ length: 12 }, (_, index) => `client-${index}`);

it("the example nightly-import, killed ten times, imports each client once and with each document once", {
  timeout: 120_000,
}, async () => {
  // No import may end between two looks at its journal, also on a busy machine.
  const slow = { chances: [{ probability: 1, fault: { kind: "delay", delayMs: 50 } }] } as const;
  await using mock = await createMockServer({ faults: { api: [slow] } });
  const folder = await mkdtemp(join(tmpdir(), "workspace-tasks-nightly-"));
  try {
    const connectionId = await connect(mock);
    await writeInput(folder);
    const journal = join(folder, "journal");
    const program = await bundledProgram("examples/nightly-import.ts");
    const args = [...program, join(folder, "clients.csv"), folder, journal];
    const start = () => new RunningProgram(args, { env: environmentOf(mock, connectionId) });
    const killed: number[] = [];
    for (let kill = 0; kill < 10; kill++) {
      using killing = start();
      const before = await linesIn(journal);
      const over = killing.ended().then(() => true);
      // After one to four more entries; ten kills leave entries for the last process.
      while (
        !(await Promise.race([over, pause(2, false)])) &&
        (await linesIn(journal)) <= before + (kill % 4)
      );
      process.kill(-killing.pid, "SIGKILL");
      const { output } = await killing.ended();
      expect(output).not.toMatch(/were there/);
      killed.push(await linesIn(journal));
    }
    using last = start();
    const { code, output } = await last.ended();
    const [, imported = 0, there = 0] = /(\d+) imported, (\d+) were there, 0 to look at/.exec(output) ?? [];
    expect(Number(imported) + Number(there)).toBe(12);
    expect(code).toBe(0);
    expect(new Set(killed).size).toBeGreaterThan(5);
    const once = names.map((externalId) => [externalId, 1, "1099.pdf,w2.pdf"]);
    expect(await preparations(mock)).toEqual(once.sort());
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

it("the example nightly-import, run on three nights, imports new clients and reports changed ones until it is told to import them", {
  timeout: 120_000,
}, async () => {
  await using mock = await createMockServer();
  const folder = await mkdtemp(join(tmpdir(), "workspace-tasks-nightly-"));
  try {
    const connectionId = await connect(mock);
    const program = await bundledProgram("examples/nightly-import.ts");
    const args = [...program, join(folder, "clients.csv"), folder, join(folder, "journal")];
    const night = async (...flags: string[]) => {
      using running = new RunningProgram([...args, ...flags], { env: environmentOf(mock, connectionId) });
      const { code, output } = await running.ended();
      return { code, output, uploads: (await mock.control.getSnapshot()).state.uploads.length };
    };
    await writeInput(folder, names.slice(0, 11));
    const first = await night();
    expect(first).toMatchObject({
      code: 0,
      output: expect.stringContaining("11 imported, 0 were there, 0 to look"),
    });
    // A new client, a corrected document, an additional one; all others are written again as they were.
    await writeInput(folder, names);
    await writeFile(join(folder, "client-0", "w2.pdf"), "%PDF-1.7 corrected");
    await writeFile(join(folder, "client-1", "k1.pdf"), "%PDF-1.7 additional");
    const second = await night();
    expect(second).toMatchObject({ code: 1, uploads: first.uploads + 2 });
    expect(second.output).toContain("1 imported, 9 were there, 2 to look at");
    expect(second.output).toMatch(
      /^changed: client "client-0": .+: "client-0\/w2.pdf"; call with onChanged/m,
    );
    expect(second.output).toMatch(/^changed: client "client-1": .+: "client-1\/k1.pdf"; /m);
    const told = await night("--import-changed");
    expect(told).toMatchObject({ code: 0, uploads: second.uploads + 2 });
    expect(told.output).toContain("2 imported, 10 were there, 0 to look at");
    const third = await night();
    expect(third).toMatchObject({ code: 0, uploads: told.uploads });
    expect(third.output).toContain("0 imported, 12 were there, 0 to look at");
    const twice = [
      ["client-0", 1, "1099.pdf,w2.pdf"],
      ["client-1", 1, "1099.pdf,k1.pdf,w2.pdf"],
    ];
    const once = names.map((externalId) => [externalId, 1, "1099.pdf,w2.pdf"]);
    expect(await preparations(mock)).toEqual([...once, ...twice].sort());
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

/** External id, number of tasks and documents of each client of the service. */
async function preparations(mock: MockServer): Promise<readonly unknown[]> {
  const { clients, tasks, documents } = (await mock.control.getSnapshot()).state as unknown as State;
  const all = clients.map(({ id, externalId }) => [
    externalId.replace(/~.*/, ""),
    tasks.filter(({ clientId }) => clientId === id).length,
    documents
      .filter(({ clientId }) => clientId === id)
      .map(({ fileName }) => fileName)
      .sort()
      .join(),
  ]);
  return all.sort();
}

interface State {
  readonly clients: readonly { readonly id: string; readonly externalId: string }[];
  readonly tasks: readonly { readonly clientId: string }[];
  readonly documents: readonly { readonly clientId: string; readonly fileName: string }[];
}

const environmentOf = ({ baseUrl, gatewayUrl, apiKey }: MockServer, connectionId: string) => ({
  WORKSPACE_TASKS_BASE_URL: baseUrl,
  WORKSPACE_TASKS_GATEWAY_URL: gatewayUrl,
  WORKSPACE_TASKS_API_KEY: apiKey,
  WORKSPACE_TASKS_CONNECTION_ID: connectionId,
});

async function connect({ baseUrl, gatewayUrl, apiKey, workspaceId }: MockServer): Promise<string> {
  await using client = createClient({ baseUrl, gatewayUrl, apiKey });
  const { connections } = client.partner;
  const { id } = await connections.start({ workspaceId, providerKey: "acme", inputs: {} });
  await connections.collect(id);
  return id;
}

/** A CSV file, and two documents in a folder for each client. */
async function writeInput(folder: string, clients = names): Promise<void> {
  const lines = clients.map((name) => `${name},"Name, ${name}",${name}`);
  await writeFile(join(folder, "clients.csv"), ["externalId,name,folder", ...lines].join("\n"));
  for (const name of clients) {
    await mkdir(join(folder, name), { recursive: true });
    for (const document of ["w2.pdf", "1099.pdf"])
      await writeFile(join(folder, name, document), `%PDF-1.7 ${name} ${document}`);
  }
}

async function linesIn(journal: string): Promise<number> {
  const text = await readFile(journal, "utf8").catch(() => "");
  return text.split("\n").length;
}
