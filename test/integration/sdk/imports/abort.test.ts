import { utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { createMockServer, MockServer } from "@workspace-tasks/mock-server";
import type {
  Clock,
  CreateClientOptions,
  ImportClient,
  ImportFileArtifact,
  ImportJournal,
  Task,
} from "@workspace-tasks/sdk";
import { describe, expect, it } from "vitest";
import { clientsWithUrls, createImportFixture, type ImportFixture } from "../../../support/import-fixture.ts";
import { MemoryJournal } from "../../../support/memory-journal.ts";
import { codeOf } from "../../../support/outcome-of.ts";
import { withFolder } from "../../../support/with-folder.ts";

type Fetch = NonNullable<CreateClientOptions["fetch"]>;

const clients: readonly ImportClient[] = clientsWithUrls(3, 1).map((client, index) => ({
  ...client,
  artifacts: client.artifacts?.map(({ name, type, externalId }) => {
    const file = () => new Blob([`document ${index}`]);
    return { name, type, externalId, mimeType: "application/pdf", file };
  }),
}));

/** What an import uses, counted; `onStep` is called before and after each request and each write of the journal. */
function observe(mock: MockServer, durable: MemoryJournal, onStep: () => void) {
  const open = { timers: 0, requests: 0 };
  const clock: Clock = {
    now: () => mock.clock.now(),
    monotonic: () => mock.clock.monotonic(),
    schedule(delayMs, run, options) {
      open.timers += 1;
      let isOpen = true;
      const end = () => {
        if (isOpen) open.timers -= 1;
        isOpen = false;
      };
      const fire = () => {
        end();
        run();
      };
      const cancel = mock.clock.schedule(delayMs, fire, options);
      return () => {
        end();
        cancel();
      };
    },
  };
  const fetch: Fetch = async (url, init) => {
    onStep();
    open.requests += 1;
    try {
      return await mock.fetch(url as URL, init as RequestInit);
    } finally {
      open.requests -= 1;
      onStep();
    }
  };
  const journal: ImportJournal = {
    open: () => durable.open(),
    async append(entries) {
      onStep();
      await durable.append(entries);
      onStep();
    },
    close: () => durable.close(),
  };
  return { clock, fetch, journal, open };
}

/** @returns whether the import was aborted before its end */
async function abortAt(step: number): Promise<boolean> {
  await using fixture = await createImportFixture();
  const { mock } = fixture;
  const durable = new MemoryJournal();
  const controller = new AbortController();
  let steps = 0;
  const { clock, fetch, journal, open } = observe(mock, durable, () => {
    if (++steps === step) controller.abort();
  });
  const client = fixture.createClient({ clock, fetch });
  const { signal } = controller;
  const code = await codeOf(fixture.import({ clients, journal, worksPerJob: 2, signal }, client));
  expect({ code, closed: durable.closed, requests: open.requests }).toEqual({
    code: signal.aborted && code !== "no error" ? "ABORTED" : "no error",
    closed: 1,
    requests: 0,
  });
  await client.close();
  expect(open.timers).toBe(0);
  const result = await fixture.import({ clients, journal: durable, worksPerJob: 2 });
  expect(result.counts.imported + result.counts.unchanged).toBe(3);
  expect(await fixture.problems(result, clients)).toEqual([]);
  return code === "ABORTED";
}

describe("an import that is aborted", () => {
  it("at any step leaves a closed journal that continues, and no timer and no request", async () => {
    let step = 1;
    while (await abortAt(step)) step += 1;
    expect(step).toBeGreaterThan(40);
  }, 120_000);

  it("ends while the function that opens a file never settles", async () => {
    await using fixture = await createImportFixture();
    const controller = new AbortController();
    const journal = new MemoryJournal();
    const file = () => {
      controller.abort();
      return new Promise<Blob>(() => {});
    };
    const artifact = { name: "w2.pdf", type: "w2", externalId: "w2", mimeType: "application/pdf", file };
    const input = [{ externalId: "a", name: "A", artifacts: [artifact] }];
    const aborted = fixture.import({ clients: input, journal, signal: controller.signal });
    expect(await codeOf(aborted)).toBe("ABORTED");
    expect(journal.closed).toBe(1);
  });
});

describe("uploads of an import", () => {
  it("are continued by the next process, and begun again when the service has lost them", async () => {
    await using fixture = await createImportFixture();
    const { mock } = fixture;
    const [client] = clients as [ImportClient];
    const journal = new MemoryJournal();
    const bytes = 12_000_000;
    const file = () => new Blob([new Uint8Array(bytes)]);
    const input = [{ ...client, artifacts: [{ ...client.artifacts?.[0], file }] }] as ImportClient[];
    for (const _ of [1, 2]) {
      const controller = new AbortController();
      const onProgress = ({ uploadedBytes }: { uploadedBytes: number }) => {
        if (uploadedBytes >= 5_000_000) controller.abort();
      };
      const aborted = fixture.import({ clients: input, journal, signal: controller.signal, onProgress });
      expect(await codeOf(aborted)).toBe("ABORTED");
    }
    const begun = journal.entries.filter((entry) => entry.startsWith('["upload"'));
    expect(begun).toHaveLength(1);
    const { state } = await mock.control.getSnapshot();
    expect(state.uploads[0]?.offsetBytes).toBeGreaterThan(0);
    const url = (JSON.parse(begun[0] ?? "") as readonly string[])[3] ?? "";
    const { workspaceToken } = await mock.control.createTokens({});
    await mock.fetch(url, {
      method: "DELETE",
      headers: { authorization: `Bearer ${workspaceToken}`, "tus-resumable": "1.0.0" },
    });
    const result = await fixture.import({ clients: input, journal });
    expect(await fixture.problems(result, input)).toEqual([]);
    expect(journal.entries.filter((entry) => entry.startsWith('["upload"'))).toHaveLength(2);
  });
});

describe("a file that has changed when its import continues", () => {
  // With real time: a virtual clock does not wait for files.

  /** Aborts an import of one client as soon as its upload was begun, and changes the file. */
  async function importTwice(
    fixture: ImportFixture,
    file: ImportFileArtifact["file"],
    change: () => Promise<void>,
  ): Promise<readonly number[]> {
    const artifact = { name: "w2.pdf", type: "w2", externalId: "w2", mimeType: "application/pdf", file };
    const clients = [{ externalId: "a", name: "A", artifacts: [artifact] }];
    const controller = new AbortController();
    const journal = new MemoryJournal();
    const append = async (entries: readonly string[]) => {
      await journal.append(entries);
      if (entries.some((entry) => entry.startsWith('["upload"'))) controller.abort();
    };
    const aborting = { open: () => journal.open(), append, close: () => journal.close() };
    const { connectionId, jobName } = fixture;
    const { start } = fixture.createClient().partner.imports;
    const options = { connectionId, jobName, clients };
    const aborted = start({ ...options, journal: aborting, signal: controller.signal });
    expect(await codeOf(aborted)).toBe("ABORTED");
    await change();
    expect((await start({ ...options, journal })).counts.imported).toBe(1);
    const { state } = await fixture.mock.control.getSnapshot();
    return state.uploads.map(({ offsetBytes }) => offsetBytes);
  }

  it.each([
    ["longer", 13_000_000],
    ["shorter", 11_000_000],
    ["of the same length", 12_000_000],
  ])("is uploaded from its beginning when it is %s", (_, bytes) =>
    withFolder(async (folder) => {
      await using fixture = await createImportFixture({ clock: "real" });
      const file = join(folder, "w2.pdf");
      await writeFile(file, new Uint8Array(12_000_000).fill(1));
      const sent = await importTwice(fixture, file, async () => {
        await writeFile(file, new Uint8Array(bytes).fill(2));
        await utimes(file, 1, 1);
      });
      expect(sent).toEqual([expect.any(Number), bytes]);
    }),
  );

  it("is continued when it has not changed (control)", () =>
    withFolder(async (folder) => {
      await using fixture = await createImportFixture({ clock: "real" });
      const file = join(folder, "w2.pdf");
      await writeFile(file, new Uint8Array(12_000_000));
      expect(await importTwice(fixture, file, async () => {})).toEqual([12_000_000]);
    }));

  it("is uploaded from its beginning when a function opens a document of another length", async () => {
    await using fixture = await createImportFixture({ clock: "real" });
    let bytes = 12_000_000;
    const open = () => new Blob([new Uint8Array(bytes)]);
    const change = async () => {
      bytes = 3_000_000;
    };
    expect(await importTwice(fixture, open, change)).toEqual([expect.any(Number), 3_000_000]);
  });
});

describe("waitForTasks", () => {
  const importedIn = async (mock: Parameters<typeof createMockServer>[0] = {}) => {
    const fixture = await createImportFixture(mock);
    const client = fixture.createClient();
    const result = await fixture.import({ clients: clientsWithUrls(5, 1) }, client);
    // The first call loads its code, which the virtual clock does not wait for.
    await client.partner.imports.waitForTasks({ ...result, clients: () => [].values() });
    return { fixture, client, result };
  };

  it("resolves to the task of each client, completed or failed, as each ends", async () => {
    const { fixture, client, result } = await importedIn();
    await using _ = fixture;
    const [first] = await fixture.mock.clock.runUntil(client.tasks.list().toArray());
    await fixture.mock.control.setTaskStatus((first as Task).id, {
      status: "FAILED",
      errorMessage: "unreadable",
    });
    const seen: string[] = [];
    const onTask = ({ externalId }: { externalId: string }) => void seen.push(externalId);
    const tasks = await fixture.mock.clock.runUntil(client.partner.imports.waitForTasks(result, { onTask }));
    expect(tasks.map(({ externalId }) => externalId).sort()).toEqual(seen.sort());
    expect(tasks.map(({ task }) => task?.status).sort()).toEqual([
      ...Array<string>(4).fill("COMPLETED"),
      "FAILED",
    ]);
    expect(tasks.find(({ task }) => task?.status === "FAILED")?.error?.code).toBe("TASK_FAILED");
    expect(new Set(tasks.map(({ task }) => task?.client?.name)).size).toBe(5);
  });

  it("reports clients whose tasks do not end within the deadline, and ends with its signal", async () => {
    const slow = { progression: "timed", stages: [{ type: "review", durationMs: 3_600_000 }] } as const;
    const { fixture, client, result } = await importedIn({
      settings: { tasks: { plans: { TAX_PREP: slow } } },
    });
    await using _ = fixture;
    const { imports } = client.partner;
    const late = await fixture.mock.clock.runUntil(imports.waitForTasks(result, { deadlineMs: 60_000 }));
    expect(late.map(({ error, task }) => [error?.code, task?.status])).toEqual(
      Array(5).fill(["DEADLINE_EXCEEDED", "RUNNING"]),
    );
    const unfound = {
      ...result,
      clients: () => [{ externalId: "x", status: "imported", workId: "none" }].values(),
    };
    const missing = await fixture.mock.clock.runUntil(
      imports.waitForTasks(unfound as never, { deadlineMs: 60_000 }),
    );
    expect(missing).toMatchObject([
      { externalId: "x", task: undefined, error: { code: "DEADLINE_EXCEEDED" } },
    ]);
    const controller = new AbortController();
    const ended = imports.waitForTasks(result, { signal: controller.signal });
    controller.abort();
    expect(await codeOf(fixture.mock.clock.runUntil(ended))).toBe("ABORTED");
  });

  it("takes the result of an import alone", async () => {
    await using fixture = await createImportFixture();
    const { waitForTasks } = fixture.createClient().partner.imports;
    for (const wrong of [undefined, {}, { clients: () => 5 }, { clients: () => undefined }])
      expect(await codeOf(waitForTasks(wrong as never))).toBe("ARGUMENT_INVALID");
    expect(await waitForTasks({ clients: () => [].values() } as never)).toEqual([]);
  });

  it("ends with ON_PROGRESS_FAILED when onTask fails, and at its deadline when onTask never ends", async () => {
    const { fixture, client, result } = await importedIn();
    await using _ = fixture;
    const { imports } = client.partner;
    const failing = imports.waitForTasks(result, { onTask: () => Promise.reject(new Error("no")) });
    expect(await codeOf(fixture.mock.clock.runUntil(failing))).toBe("ON_PROGRESS_FAILED");
    let calls = 0;
    let resolve = () => {};
    const onTask = () => {
      calls += 1;
      return new Promise<void>((resolved) => {
        resolve = resolved;
      });
    };
    const tasks = await fixture.mock.clock.runUntil(
      imports.waitForTasks(result, { onTask, deadlineMs: 60_000 }),
    );
    const codes = tasks.map(({ error }) => error?.code);
    expect(codes).toEqual([undefined, ...Array(4).fill("DEADLINE_EXCEEDED")]);
    resolve();
    await fixture.mock.clock.advance("1m");
    expect(calls).toBe(1);
  });
});
