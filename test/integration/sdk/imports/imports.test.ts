import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { runInNewContext } from "node:vm";
import { deferred } from "@workspace-tasks/kernel/deferred.ts";
import {
  type ImportClient,
  type ImportFileArtifact,
  type ImportJournal,
  type ImportProgress,
  type ImportResult,
  type OpenJournal,
  postgresJournal,
  type UploadBody,
} from "@workspace-tasks/sdk";
import { describe, expect, it } from "vitest";
import { clientsWithUrls, createImportFixture } from "../../../support/import-fixture.ts";
import { MemoryJournal } from "../../../support/memory-journal.ts";
import { codeOf, failureOf } from "../../../support/outcome-of.ts";
import { clientsWithFiles } from "./import-stops.ts";

const statuses = (result: ImportResult) =>
  Object.fromEntries([...result.clients()].map(({ externalId, status }) => [externalId, status]));
const clientOf = (result: ImportResult, externalId: string) =>
  [...result.clients()].find((client) => client.externalId === externalId);

async function* chunksOf(text: string) {
  yield new TextEncoder().encode(text);
}

/** A journal that cannot append an entry of this name. */
const rejecting = (name: string, durable: MemoryJournal): ImportJournal => ({
  open: async () => ({
    read: () => durable.read(),
    append: async (entries) => {
      if (entries.some((entry) => entry.startsWith(`["${name}"`))) throw new Error("no disk");
      await durable.append(entries);
    },
    close: () => durable.close(),
  }),
});

describe("an import", () => {
  it("takes no longer than the rate limit permits, gets no 429, and lets interactive calls go first", async () => {
    await using fixture = await createImportFixture();
    const { mock } = fixture;
    // The client's own deadline is for its other calls.
    const client = fixture.createClient({ deadlineMs: 5_000 });
    const clients = clientsWithUrls(300, 3);
    const startedMs = mock.clock.monotonic();
    const journal = new MemoryJournal();
    const importing = fixture.import({ clients, journal }, client);
    await mock.clock.advance("30s");
    // What waits for the rate limit would not be in doubt if the process ended now.
    const noted = (name: string) => journal.entries.filter((entry) => entry.startsWith(`["${name}"`)).length;
    expect(noted("attach?")).toBe(noted("attach"));
    expect(noted("attach")).toBeGreaterThan(90);
    const { meta } = await client.partner.me({ priority: "interactive" }).withMeta();
    expect(meta.queuedMs).toBeLessThan(100);
    const result = await importing;
    expect(result.counts).toMatchObject({ imported: 300 });
    // A call for each client and three for each of three jobs; a tenth of the limit is left to others.
    const windows = Math.floor((300 + 3 * 3) / (0.9 * 120));
    expect(mock.clock.monotonic() - startedMs).toBeLessThan(1.05 * windows * 60_000);
    const { data } = await mock.control.listRequests({ limit: 1_000 });
    expect(data.filter(({ status }) => status === 429)).toEqual([]);
    expect(await fixture.problems(result, clients)).toEqual([]);
  });

  it("reports the latest progress, also to a slow reader", async () => {
    await using fixture = await createImportFixture();
    const slow: ImportProgress[] = [];
    await fixture.import({
      clients: clientsWithUrls(30, 1),
      worksPerJob: 10,
      onProgress(progress) {
        slow.push(progress);
        return new Promise<void>((resolve) => fixture.mock.clock.schedule(1_000, resolve));
      },
    });
    expect(slow.length).toBeLessThan(10);
    expect(slow[0]).toMatchObject({ counts: { imported: 0 }, uploadedBytes: 0 });
    expect(slow.at(-1)).toMatchObject({ counts: { imported: 30, open: 0 } });
  });
});

describe("the clients of an import", () => {
  it.each<[string, Partial<ImportFileArtifact>]>([
    ["a function that never settles", { file: () => new Promise<Blob>(() => {}) }],
    [
      "a function that never settles, with a version",
      { version: "1", file: () => new Promise<Blob>(() => {}) },
    ],
    ["a stream that stalls", { file: () => new ReadableStream<Uint8Array>() }],
  ])("fail alone with %s", async (_, stalled) => {
    await using fixture = await createImportFixture();
    const file = { name: "w2.pdf", type: "w2", externalId: "w2", mimeType: "application/pdf", file: "" };
    const input = [
      { externalId: "a", name: "A", artifacts: [{ ...file, ...stalled }] },
      ...clientsWithUrls(2, 1),
    ];
    const result = await fixture.import({ clients: input });
    expect(result.counts).toMatchObject({ imported: 2, failed: 1 });
    const [client] = result.clients();
    expect(client?.error).toMatchObject({
      code: "UPLOAD_BODY_INVALID",
      message: expect.stringMatching(/^client "a", document "w2": .+longer than 3600000 ms/),
    });
  });

  it.each<[string, () => UploadBody]>([
    ["web stream", () => new Blob(["document"]).stream()],
    ["stream of Node", () => Readable.from([Buffer.from("document")])],
    ["generator", () => chunksOf("document")],
  ])("fail with a function that returns the same %s each time", async (_, open) => {
    await using fixture = await createImportFixture();
    const body = open();
    const file = {
      name: "w2.pdf",
      type: "w2",
      externalId: "w2",
      mimeType: "application/pdf",
      file: () => body,
    };
    // Bytes can be read again, and so can an iterable that is opened for each time.
    const bytes = { ...file, file: () => new Uint8Array(8) };
    const iterable = { [Symbol.asyncIterator]: () => chunksOf("document") };
    const clients = [file, bytes, { ...file, file: () => iterable }].map((artifact, index) => ({
      externalId: `${index}`,
      name: "Client",
      artifacts: [artifact],
    }));
    const result = await fixture.import({ clients });
    expect(statuses(result)).toEqual({ 0: "failed", 1: "imported", 2: "imported" });
    expect(clientOf(result, "0")?.error).toMatchObject({
      code: "UPLOAD_BODY_INVALID",
      message: expect.stringMatching(/^client "0", document "w2": .+ file: expected a function that opens/),
    });
  });

  it("leave time for other work while a document is read that never waits", async () => {
    await using fixture = await createImportFixture();
    const controller = new AbortController();
    const chunk = new Uint8Array(1_000_000);
    const chunksMax = 500;
    let chunks = 0;
    async function* endless() {
      for (; chunks < chunksMax; chunks++) yield chunk;
    }
    const file = () => {
      setImmediate(() => controller.abort());
      return endless();
    };
    const document = { name: "w2.pdf", type: "w2", externalId: "w2", mimeType: "application/pdf", file };
    const { signal } = controller;
    const clients = [{ externalId: "a", name: "A", artifacts: [document] }];
    expect(await codeOf(fixture.import({ clients, signal }))).toBe("ABORTED");
    expect(chunks).toBeLessThan(chunksMax);
  });

  it("fail alone when their input, their file or their artifacts are wrong, and the others are imported", async () => {
    await using fixture = await createImportFixture();
    const { mock, connectionId, jobName } = fixture;
    const file = (externalId: string, path: string | (() => Blob)) => ({
      name: "w2.pdf",
      type: "w2",
      externalId,
      mimeType: "application/pdf",
      file: path,
    });
    const url = { name: "w2.pdf", type: "w2", externalId: "document", url: "https://files.example/w2.pdf" };
    const folder = await mkdtemp(join(tmpdir(), "workspace-tasks-"));
    await writeFile(join(folder, "w2.pdf"), "document");
    const clients = [
      ...clientsWithUrls(4, 1),
      { externalId: "file", name: "File", artifacts: [file("file", join(folder, "w2.pdf"))] },
      { externalId: "blob", name: "Blob", artifacts: [file("blob", () => new Blob(["document"]))] },
      {
        externalId: "no-file",
        name: "No file",
        artifacts: [url, file("no-file", join(folder, "missing.pdf"))],
      },
      { externalId: "empty-file", name: "Empty", artifacts: [file("empty", () => new Blob([]))] },
      { externalId: "blank", name: " " },
      { externalId: "long", name: "x".repeat(10) },
      { externalId: "twice", name: "Twice" },
      { externalId: "twice", name: "Twice" },
      { externalId: "same-artifacts", name: "Same", artifacts: [url, url] },
      {
        externalId: "both",
        name: "Both",
        artifacts: [{ ...file("both", () => new Blob(["document"])), url: url.url }],
      },
      { externalId: "bad-url", name: "Bad URL", artifacts: [{ ...url, url: "nowhere" }] },
    ] satisfies readonly ImportClient[];
    mock.override("createJobWorks", async ({ variables, original }) => {
      const { inputs } = variables as { inputs: readonly { name: string }[] };
      if (inputs.some(({ name }) => name.length === 10))
        return { errors: [{ message: "name is too long", code: "BAD_USER_INPUT" }] };
      return { data: (await original()) as object };
    });
    // A file is read in real time: the clock stands still.
    const result = await fixture.createClient().partner.imports.start({
      connectionId,
      jobName,
      clients,
      journal: new MemoryJournal(),
    });
    await rm(folder, { recursive: true });
    const good = ["client-0", "client-1", "client-2", "client-3", "file", "blob"];
    const bad = ["no-file", "empty-file", "blank", "long", "same-artifacts", "both", "bad-url"];
    expect(statuses(result)).toEqual({
      ...Object.fromEntries(good.map((externalId) => [externalId, "imported"])),
      ...Object.fromEntries(bad.map((externalId) => [externalId, "failed"])),
      twice: "failed",
    });
    expect(result.counts).toMatchObject({ open: 0, imported: 7, exists: 0, failed: 8, undecided: 0 });
    const codes = bad.map((externalId) => clientOf(result, externalId)?.error?.code);
    const invalid = "ARGUMENT_INVALID";
    expect(codes).toEqual([
      "UPLOAD_BODY_INVALID",
      "UPLOAD_BODY_INVALID",
      invalid,
      "INPUT_INVALID",
      invalid,
      invalid,
      "INPUT_INVALID",
    ]);
    expect(clientOf(result, "both")?.error?.message).toContain("expected a file or a url, not both");
    const message = clientOf(result, "no-file")?.error?.message;
    expect(message).toMatch(/^client "no-file", document "no-file": .+could not be read \(ENOENT\)$/);
    expect(
      await fixture.problems(
        result,
        clients.filter(({ externalId }) => good.includes(externalId)),
      ),
    ).toEqual([]);
  });

  it.each([
    ["works", { a: "imported", b: "failed" }, { a: "unchanged", b: "imported" }],
    // Its documents are attached: only whether they have changed since is not known.
    ["start?", { a: "imported", b: "undecided" }, { a: "unchanged", b: "unchanged" }],
  ])(
    "do not hold others up with a file that cannot be read when a journal without %s continues",
    async (missing, then, atLast) => {
      await using fixture = await createImportFixture();
      let isReadable = true;
      const open = (document: string) => {
        if (document === "b" && !isReadable) throw new Error("unreadable");
        return new Blob([document]);
      };
      const clients: readonly ImportClient[] = ["a", "b"].map((externalId) => {
        const artifact = { name: "w2.pdf", type: "w2", externalId, mimeType: "application/pdf" };
        return { externalId, name: externalId, artifacts: [{ ...artifact, file: () => open(externalId) }] };
      });
      const durable = new MemoryJournal();
      expect(await codeOf(fixture.import({ clients, journal: rejecting(missing, durable) }))).toBe(
        "JOURNAL_FAILED",
      );
      isReadable = false;
      const partly = await fixture.import({ clients, journal: durable });
      expect(statuses(partly)).toEqual(then);
      isReadable = true;
      const result = await fixture.import({ clients, journal: durable });
      expect(statuses(result)).toEqual(atLast);
      expect(await fixture.problems(result, clients)).toEqual([]);
    },
  );

  it("are imported when a lost request has started their job, and those after it are rejected", async () => {
    await using fixture = await createImportFixture();
    const clients = clientsWithUrls(2, 1);
    const rejected = { kind: "graphql-error", message: "no", code: "NOT_FOUND" } as const;
    const instructions = [{ kind: "reset-after-effect" } as const, rejected, rejected];
    await fixture.mock.control.setFaults({ api: [{ operation: "initiateTaxPrepsImport", instructions }] });
    const result = await fixture.import({ clients });
    expect(result.counts.imported).toBe(2);
    expect(await fixture.problems(result, clients)).toEqual([]);
  });

  it.each(["INPUT_INVALID", "INTERNAL_SERVER_ERROR"])(
    "have not failed when they have a task that the journal has lost, and their documents get %s",
    async (code) => {
      await using fixture = await createImportFixture();
      const durable = new MemoryJournal();
      const clients = clientsWithUrls(2, 1);
      await fixture.import({ clients, journal: durable });
      await fixture.mock.clock.advance("1m");
      const intent = durable.entries.findIndex((entry) => entry.startsWith('["attach?"'));
      durable.entries.splice(intent + 1);
      fixture.mock.override("createJobWorkArtifacts", { errors: [{ message: "no", code }] });
      const result = await fixture.import({ clients, journal: durable });
      // Their documents are not known to be attached.
      expect(statuses(result)).toEqual({ "client-0": "undecided", "client-1": "undecided" });
      expect(await fixture.problems(result, clients)).toEqual([]);
    },
  );

  it("whose works come back without ids get another job", async () => {
    await using fixture = await createImportFixture();
    const withoutIds = async ({ original }: { original(): Promise<unknown> }) => {
      await original();
      return { data: [] };
    };
    fixture.mock.override("createJobWorks", withoutIds, { times: 1, invalid: true });
    const clients = clientsWithUrls(4, 1);
    const result = await fixture.import({ clients });
    expect(result.counts.imported).toBe(4);
    expect(clientOf(result, "client-0")?.workExternalId).toMatch(/^client-0~[\da-f]{8}$/);
    expect(await fixture.problems(result, clients)).toEqual([]);
    const { state } = await fixture.mock.control.getSnapshot();
    expect(new Set(state.jobs.map(({ status }) => status))).toEqual(new Set(["completed", "pending"]));
  });

  it.each([
    ["CONFLICT", "undecided"],
    ["NOT_FOUND", "failed"],
  ])("of a job whose start is rejected with %s are %s", async (code, status) => {
    await using fixture = await createImportFixture();
    const journal = new MemoryJournal();
    const clients = clientsWithUrls(2, 1);
    const override = fixture.mock.override("initiateTaxPrepsImport", { errors: [{ message: "no", code }] });
    const result = await fixture.import({ clients, journal });
    expect(statuses(result)).toEqual({ "client-0": status, "client-1": status });
    override.remove();
    const again = await fixture.import({ clients, journal });
    expect(again.counts).toMatchObject({ imported: 2 });
  });

  it.each([
    ["BAD_USER_INPUT", "INPUT_INVALID"],
    ["INTERNAL_SERVER_ERROR", "SERVICE_FAILED"],
  ])("whose artifacts always end with %s fail alone", async (code, expected) => {
    await using fixture = await createImportFixture();
    fixture.mock.override("createJobWorkArtifacts", async ({ variables, original }) => {
      const isBad = JSON.stringify(variables).includes("document-2-0");
      return isBad ? { errors: [{ message: "no", code }] } : { data: (await original()) as object };
    });
    const clients = clientsWithUrls(9, 1);
    const result = await fixture.import({ clients });
    expect(result.counts).toMatchObject({ imported: 8, failed: 1 });
    expect(clientOf(result, "client-2")).toMatchObject({ status: "failed", error: { code: expected } });
    expect(await fixture.problems(result, clients)).toEqual([]);
  });

  it("that are missing when an import continues are reported, and come with a later call", async () => {
    await using fixture = await createImportFixture();
    const clients = clientsWithUrls(4, 1);
    const controller = new AbortController();
    const journal = new MemoryJournal();
    fixture.mock.override("createJobWorkArtifacts", async ({ original, count }) => {
      if (count === 2) controller.abort();
      return { data: (await original()) as object };
    });
    const first = fixture.import({ clients, journal, concurrency: 1, signal: controller.signal });
    expect(await codeOf(first)).toBe("ABORTED");
    const partial = await fixture.import({ clients: clients.slice(0, 3), journal });
    expect(partial.counts).toMatchObject({ imported: 3, failed: 1 });
    expect(clientOf(partial, "client-3")?.error?.message).toContain("the input does not have it");
    const result = await fixture.import({ clients, journal });
    expect(result.counts).toMatchObject({ imported: 1, unchanged: 3, failed: 0 });
    expect(await fixture.problems(result, clients)).toEqual([]);
  });
});

describe("an import ends", () => {
  it.each([
    ["NOT_FOUND", { message: "Provider connection not found", code: "NOT_FOUND" }],
    ["CONFLICT", { message: "Provider connection is not active", code: "CONFLICT" }],
    ["PERMISSION_DENIED", { message: "Unauthorized", code: "FORBIDDEN" }],
    ["SERVICE_FAILED", { message: "internal", code: "INTERNAL_SERVER_ERROR" }],
  ])("with %s of the job, and continues when that is repaired", async (code, error) => {
    await using fixture = await createImportFixture();
    const journal = new MemoryJournal();
    const clients = clientsWithUrls(3, 1);
    const override = fixture.mock.override("createConnectionJob", { errors: [error] });
    // More clients never come.
    const stalling = (async function* () {
      yield* clients;
      await new Promise<never>(() => {});
    })();
    const ended = fixture.import({ clients: stalling, journal, worksPerJob: 3 });
    expect(await codeOf(ended)).toBe(code);
    expect(journal.closed).toBe(1);
    expect(override.calls).toBe(code === "SERVICE_FAILED" ? 8 : 1);
    override.remove();
    expect((await fixture.import({ clients, journal })).counts.imported).toBe(3);
  });

  it("with the error of its clients, and with its signal while these do not come", async () => {
    await using fixture = await createImportFixture();
    const journal = new MemoryJournal();
    const failing = (async function* () {
      yield* clientsWithUrls(2, 1);
      throw new Error("the database is gone");
    })();
    await expect(fixture.import({ clients: failing, journal })).rejects.toThrow("the database is gone");
    const nothing = { [Symbol.iterator]: () => ({ next: () => Promise.reject(undefined) }) };
    const thrown = fixture.import({ clients: nothing as never, journal: new MemoryJournal() });
    await expect(thrown).rejects.toThrow("clients threw no Error");
    const others: readonly [unknown, string][] = [
      [{ [Symbol.iterator]: 3 }, "clients: expected an iterable of clients, got an object"],
      [{ [Symbol.iterator]: () => null }, "clients: its iterator: expected one with next, got null"],
      [{ [Symbol.iterator]: () => ({ next: () => null }) }, "from next, got null"],
      [{ [Symbol.asyncIterator]: () => ({ next: async () => {} }) }, "from next, got nothing"],
    ];
    for (const [clients, message] of others) {
      const ended = failureOf(fixture.import({ clients: clients as never }));
      expect(await ended).toMatchObject({
        code: "ARGUMENT_INVALID",
        message: expect.stringContaining(message),
      });
    }
    const controller = new AbortController();
    const silent = { [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => {}) }) };
    const waiting = fixture.import({ clients: silent, journal, signal: controller.signal });
    controller.abort(new Error("enough"));
    expect(await failureOf(waiting)).toMatchObject({ code: "ABORTED", cause: { message: "enough" } });
    const endless = (function* () {
      for (;;) yield { externalId: "same", name: "Same" };
    })();
    const repeating = fixture.import({
      clients: endless,
      journal: new MemoryJournal(),
      signal: AbortSignal.timeout(200),
    });
    expect(await codeOf(repeating)).toBe("ABORTED");
    // The second import ended before it opened the journal.
    expect(journal.closed).toBe(1);
    expect((await fixture.import({ clients: clientsWithUrls(2, 1), journal })).counts.imported).toBe(2);
  });

  it.each(["open", "read", "append", "close"] as const)(
    "with JOURNAL_FAILED when its journal cannot %s, and sends nothing more",
    async (method) => {
      for (const fail of [
        () => Promise.reject(new Error("no disk")),
        // Of another realm, as in a test runner.
        () => Promise.reject(runInNewContext('new Error("no disk")')),
        () => new Promise<never>(() => {}),
        () => {
          throw new Error("no disk");
        },
      ]) {
        await using fixture = await createImportFixture();
        const failing = method === "read" ? () => ({ [Symbol.asyncIterator]: () => ({ next: fail }) }) : fail;
        const journal = Object.assign(new MemoryJournal(), { [method]: failing });
        const before = await fixture.mock.control.listRequests({ limit: 1_000 });
        const error = await failureOf(fixture.import({ clients: clientsWithUrls(2, 1), journal }));
        expect(error).toMatchObject({
          code: "JOURNAL_FAILED",
          message: expect.stringMatching(/no disk$|did not end within \d+ ms$/),
        });
        const after = await fixture.mock.control.listRequests({ limit: 1_000 });
        // An empty job has no effect.
        const sent = after.data.slice(0, after.data.length - before.data.length);
        const works = sent.filter(({ operations }) => operations.includes("createJobWorks"));
        if (method !== "close") expect(works).toEqual([]);
      }
    },
  );

  it("with its signal while its journal opens, which is closed when it has", async () => {
    await using fixture = await createImportFixture();
    const durable = new MemoryJournal();
    const controller = new AbortController();
    const opening = deferred<OpenJournal>();
    const open = (signal: AbortSignal) => {
      signal.addEventListener("abort", () => opening.resolve(durable));
      controller.abort();
      return opening.promise;
    };
    expect(await codeOf(fixture.import({ journal: { open }, signal: controller.signal }))).toBe("ABORTED");
    expect(durable.closed).toBe(1);
  });

  it("with JOURNAL_FAILED when its journal fails while a file is uploaded", async () => {
    await using fixture = await createImportFixture();
    const journal = rejecting("upload", new MemoryJournal());
    expect(await codeOf(fixture.import({ clients: clientsWithFiles(1, 1), journal }))).toBe("JOURNAL_FAILED");
  });

  it.each([
    ["nothing", undefined],
    ["a number", 7],
  ])("with JOURNAL_FAILED when open() or read() of its journal returns %s", async (kind, opened) => {
    await using fixture = await createImportFixture();
    const journal = { open: async () => opened };
    expect(await failureOf(fixture.import({ journal: journal as never }))).toMatchObject({
      code: "JOURNAL_FAILED",
      message: expect.stringContaining(`open(): expected one with read, append and close, got ${kind}`),
    });
    const { append, close } = new MemoryJournal();
    const unread = { open: async () => ({ read: () => opened, append, close }) };
    expect(await failureOf(fixture.import({ journal: unread as never }))).toMatchObject({
      code: "JOURNAL_FAILED",
      message: expect.stringContaining(`read(): expected an iterable of entries, got ${kind}`),
    });
  });

  it("with JOURNAL_FAILED when postgresJournal has no pool, but a client of pg", async () => {
    await using fixture = await createImportFixture();
    const journal = postgresJournal({ connect: async () => undefined as never }, "returns");
    expect(await failureOf(fixture.import({ journal }))).toMatchObject({
      code: "JOURNAL_FAILED",
      message: expect.stringContaining("pool.connect(): expected a client of a pool, got nothing"),
    });
  });

  it.each<[string, readonly unknown[]]>([
    ["expected an entry of an import", ["garbage"]],
    ["expected an entry of an import", [7]],
    ["expected an entry of an import", ['["__proto__",1]']],
    ["expected the import in the first entry only", ['["start",1]']],
    ["entry 2: expected a job that is open, got 7", ["import", '["start",7]']],
    ["entry 2: expected 1 values of start", ["import", '["start"]']],
    [
      "expected a work for each client of the job",
      ["import", '["works?",1,"a","b","new",["x"]]', '["works",1,[],[]]'],
    ],
    [
      "entry 2: works?: expected one of new, derived, alone",
      ["import", '["works?",1,"a","b","other",["x"]]'],
    ],
  ])("with JOURNAL_DAMAGED, %s, when its journal has %j", async (message, entries) => {
    await using fixture = await createImportFixture();
    const first = JSON.stringify(["import", 1, fixture.connectionId]);
    const journal = new MemoryJournal(
      entries.map((entry) => (entry === "import" ? first : entry)) as string[],
    );
    const error = await failureOf(fixture.import({ clients: [], journal }));
    expect(error).toMatchObject({ code: "JOURNAL_DAMAGED", message: expect.stringContaining(message) });
    expect(journal.closed).toBe(1);
  });

  it("with JOURNAL_MISMATCH when its journal is of another connection, and names both", async () => {
    await using fixture = await createImportFixture();
    const journal = new MemoryJournal();
    const clients = clientsWithUrls(1, 1);
    const elsewhere = { clients, journal, connectionId: "other" };
    // An import that sent nothing leaves its journal as it was.
    expect(await codeOf(fixture.import(elsewhere))).toBe("NOT_FOUND");
    expect((await fixture.import({ clients, journal })).counts.imported).toBe(1);
    const error = await failureOf(fixture.import(elsewhere));
    expect(error.code).toBe("JOURNAL_MISMATCH");
    for (const text of ['"other"', `"${fixture.connectionId}"`]) expect(error.message).toContain(text);
    expect((await fixture.import({ clients, journal, jobName: "Another" })).counts.unchanged).toBe(1);
  });

  it("with ON_PROGRESS_FAILED, CLIENT_CLOSED or ARGUMENT_INVALID", async () => {
    await using fixture = await createImportFixture();
    const clients = clientsWithUrls(2, 1);
    const onProgress = () => Promise.reject(new Error("no"));
    expect(await codeOf(fixture.import({ clients, onProgress }))).toBe("ON_PROGRESS_FAILED");
    const hangs = () => new Promise(() => {});
    const slow = await failureOf(fixture.import({ clients, onProgress: hangs, jobName: "Slow" }));
    expect(slow).toMatchObject({
      code: "ON_PROGRESS_FAILED",
      message: expect.stringContaining("longer than 30000 ms"),
    });
    const closed = fixture.createClient();
    const closing = fixture.import({ clients, jobName: "Closed" }, closed);
    await closed.close();
    expect(await codeOf(closing)).toBe("CLIENT_CLOSED");
    for (const wrong of [
      { clients: 7 },
      { journal: {} },
      { worksPerJob: 1_001 },
      { concurrency: 65 },
      { jobName: " " },
      { other: 1 },
    ])
      expect(await codeOf(fixture.import(wrong as never)), JSON.stringify(wrong)).toBe("ARGUMENT_INVALID");
    const noId = await failureOf(fixture.import({ clients: [{ name: "No id" }] as never }));
    expect(noId.message).toContain("clients.0: externalId");
  });
});
