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
      expect(output).not.toMatch(/imported/);
      killed.push(await linesIn(journal));
    }
    using last = start();
    const { code, output } = await last.ended();
    expect(output).toMatch(/12 imported, 0 existed, 0 failed/);
    expect(code).toBe(0);
    expect(new Set(killed).size).toBeGreaterThan(5);
    const { clients, tasks, documents } = (await mock.control.getSnapshot()).state as unknown as State;
    const imported = clients.map(({ id, externalId }) => ({
      externalId: externalId.replace(/~.*/, ""),
      tasks: tasks.filter(({ clientId }) => clientId === id).length,
      documents: documents
        .filter(({ clientId }) => clientId === id)
        .map(({ fileName }) => fileName)
        .sort(),
    }));
    const once = names.map((externalId) => ({ externalId, tasks: 1, documents: ["1099.pdf", "w2.pdf"] }));
    expect(imported.sort(byExternalId)).toEqual(once.sort(byExternalId));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

interface State {
  readonly clients: readonly { readonly id: string; readonly externalId: string }[];
  readonly tasks: readonly { readonly clientId: string }[];
  readonly documents: readonly { readonly clientId: string; readonly fileName: string }[];
}

const byExternalId = (a: { readonly externalId: string }, b: { readonly externalId: string }) =>
  a.externalId.localeCompare(b.externalId);

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
async function writeInput(folder: string): Promise<void> {
  const lines = names.map((name) => `${name},"Name, ${name}",${name}`);
  await writeFile(join(folder, "clients.csv"), ["externalId,name,folder", ...lines].join("\n"));
  for (const name of names) {
    await mkdir(join(folder, name));
    for (const document of ["w2.pdf", "1099.pdf"])
      await writeFile(join(folder, name, document), `%PDF-1.7 ${name} ${document}`);
  }
}

async function linesIn(journal: string): Promise<number> {
  const text = await readFile(journal, "utf8").catch(() => "");
  return text.split("\n").length;
}
