import type { createMockServer } from "@workspace-tasks/mock-server";
import type { Clock, ImportClient, Task } from "@workspace-tasks/sdk";
import { describe, expect, it } from "vitest";
import { clientsWithUrls, createImportFixture } from "../../../support/import-fixture.ts";
import { MemoryJournal } from "../../../support/memory-journal.ts";
import { codeOf } from "../../../support/outcome-of.ts";
import { startProcess } from "./crash-process.ts";
import { clientsWithFiles } from "./import-stops.ts";

/** A clock of which each timer is known until it has fired or was cancelled. */
function countingClock(clock: Clock) {
  const timers = new Set<object>();
  const counting: Clock = {
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    schedule(delayMs, run, options) {
      const timer = {};
      timers.add(timer);
      const fire = () => {
        timers.delete(timer);
        run();
      };
      const cancel = clock.schedule(delayMs, fire, options);
      return () => {
        timers.delete(timer);
        cancel();
      };
    },
  };
  return { timers, clock: counting };
}

/** @returns whether the import was aborted before its end */
async function abortAt(step: number): Promise<boolean> {
  await using fixture = await createImportFixture();
  const clients = clientsWithFiles(3, 1);
  const durable = new MemoryJournal();
  const { signal, abort } = abortable();
  const onStep = (reached: number) => {
    if (reached === step) abort();
  };
  let requests = 0;
  const serve: typeof fixture.mock.fetch = async (url, init) => {
    requests += 1;
    return fixture.mock.fetch(url, init).finally(() => {
      requests -= 1;
    });
  };
  const { timers, clock } = countingClock(fixture.mock.clock);
  const options = { clients, durable, worksPerJob: 2 };
  const clientOptions = { clock };
  const { client, ended } = startProcess(fixture, { ...options, serve, onStep, signal, clientOptions });
  const code = await codeOf(ended);
  const expected = signal.aborted && code !== "no error" ? "ABORTED" : "no error";
  expect({ code, closed: durable.closed, requests }).toEqual({ code: expected, closed: 1, requests: 0 });
  await client.close();
  expect(timers.size).toBe(0);
  const result = await fixture.import({ clients, journal: durable, worksPerJob: 2 });
  expect(result.counts.imported + result.counts.unchanged).toBe(3);
  expect(await fixture.problems(result, clients)).toEqual([]);
  return code === "ABORTED";
}

function abortable() {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort() };
}

describe("an import that is aborted", () => {
  it("at any step leaves a closed journal that continues, and no timer and no request", async () => {
    let step = 1;
    while (await abortAt(step)) step += 1;
    expect(step).toBeGreaterThan(40);
  }, 120_000);

  it("ends while the function that opens a file never settles", async () => {
    await using fixture = await createImportFixture();
    const { signal, abort } = abortable();
    const journal = new MemoryJournal();
    const file = () => {
      abort();
      return new Promise<Blob>(() => {});
    };
    const artifact = { name: "w2.pdf", type: "w2", externalId: "w2", mimeType: "application/pdf", file };
    const input = [{ externalId: "a", name: "A", artifacts: [artifact] }];
    expect(await codeOf(fixture.import({ clients: input, journal, signal }))).toBe("ABORTED");
    expect(journal.closed).toBe(1);
  });
});

describe("the upload of an import that was aborted in the middle", () => {
  const bytes = 12_000_000;

  /** Aborts an import twice while its document is uploaded. */
  async function abortUploads() {
    const fixture = await createImportFixture();
    const journal = new MemoryJournal();
    let document = new Uint8Array(bytes).fill(1);
    const artifact = { name: "w2.pdf", type: "w2", externalId: "w2", mimeType: "application/pdf" };
    const clients: readonly ImportClient[] = [
      { externalId: "a", name: "A", artifacts: [{ ...artifact, file: () => new Blob([document]) }] },
    ];
    for (const _ of [1, 2]) {
      const { signal, abort } = abortable();
      const onProgress = ({ uploadedBytes }: { uploadedBytes: number }) => {
        if (uploadedBytes >= 5_000_000) abort();
      };
      expect(await codeOf(fixture.import({ clients, journal, signal, onProgress }))).toBe("ABORTED");
    }
    const finish = async () => {
      const result = await fixture.import({ clients, journal });
      expect(await fixture.problems(result, clients)).toEqual([]);
      const { state } = await fixture.mock.control.getSnapshot();
      return state.uploads.map(({ offsetBytes }) => offsetBytes);
    };
    const change = (changed: Uint8Array<ArrayBuffer>) => {
      document = changed;
    };
    return { fixture, journal, finish, change };
  }

  it.each([
    ["continued when it has not changed", bytes, 1, [bytes]],
    ["begun again when it is longer", 13_000_000, 1, [expect.any(Number), 13_000_000]],
    ["begun again when it is shorter", 3_000_000, 1, [expect.any(Number), 3_000_000]],
    ["begun again when it has the same length", bytes, 2, [expect.any(Number), bytes]],
  ])("is %s", async (_, length, content, expected) => {
    const { fixture, finish, change } = await abortUploads();
    await using _fixture = fixture;
    change(new Uint8Array(length).fill(content));
    expect(await finish()).toEqual(expected);
  });

  it("is begun again when the service has lost it", async () => {
    const { fixture, journal, finish } = await abortUploads();
    await using _ = fixture;
    const begun = () => journal.entries.filter((entry) => entry.startsWith('["upload"'));
    expect(begun()).toHaveLength(1);
    const url = (JSON.parse(begun()[0] ?? "") as readonly string[])[3] ?? "";
    const { workspaceToken } = await fixture.mock.control.createTokens({});
    const headers = { authorization: `Bearer ${workspaceToken}`, "tus-resumable": "1.0.0" };
    await fixture.mock.fetch(url, { method: "DELETE", headers });
    await finish();
    expect(begun()).toHaveLength(2);
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

  it("resolves to the task of each client, completed or failed", async () => {
    const { fixture, client, result } = await importedIn();
    await using _ = fixture;
    const [first] = await fixture.mock.clock.runUntil(client.tasks.list().toArray());
    await fixture.mock.control.setTaskStatus((first as Task).id, {
      status: "FAILED",
      errorMessage: "unreadable",
    });
    const tasks = await fixture.mock.clock.runUntil(client.partner.imports.waitForTasks(result));
    expect(tasks.map(({ externalId }) => externalId)).toEqual(
      clientsWithUrls(5, 1).map(({ externalId }) => externalId),
    );
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
    for (const wrong of [undefined, {}])
      expect(await codeOf(waitForTasks(wrong as never))).toBe("ARGUMENT_INVALID");
    expect(await waitForTasks({ clients: () => [].values() } as never)).toEqual([]);
  });
});
