import type { ImportClient, ImportOptions, ImportResult } from "@workspace-tasks/sdk";
import { describe, expect, it } from "vitest";
import { createImportFixture, type ImportFixture } from "../../../support/import-fixture.ts";
import { MemoryJournal } from "../../../support/memory-journal.ts";
import { startProcess } from "./crash-process.ts";

/** A client with a document of this content. */
const clientWith = (number: number, content: string): ImportClient => {
  const file = () => new Blob([content]);
  const artifact = {
    name: "w2.pdf",
    type: "w2",
    externalId: `w2-${number}`,
    mimeType: "application/pdf",
    file,
  };
  return { externalId: `client-${number}`, name: `Client ${number}`, artifacts: [artifact] };
};

/** The clients of a night, from 1: each night 5 are new, 3 have a changed document, and 2 are gone. */
function clientsOf(night: number): readonly ImportClient[] {
  const first = (night - 1) * 2;
  const last = 300 + (night - 1) * 5;
  return Array.from({ length: last - first }, (_, index) => {
    const number = first + index;
    const changes = Array.from({ length: night - 1 }, (_, n) => n + 2).filter(
      (each) => number >= 10 * each && number < 10 * each + 3,
    );
    return clientWith(number, `document ${number} of night ${changes.at(-1) ?? 1}`);
  });
}

interface Night {
  readonly result: ImportResult;
  readonly processes: number;
  readonly calls: number;
  readonly uploads: number;
  readonly tasks: number;
}

interface NightOptions {
  readonly night: number;
  readonly journal: MemoryJournal;
  /** How many calls each process makes before it is killed; the response to the last one is lost. Default: it is not. */
  readonly calls?: number;
  /** How many processes are killed. */
  readonly kills?: number;
}

async function importNight(
  fixture: ImportFixture,
  { night, journal, calls: callsMax = Number.POSITIVE_INFINITY, kills = 40 }: NightOptions,
): Promise<Night> {
  const { mock } = fixture;
  const before = (await mock.control.getSnapshot()).state;
  let calls = 0;
  for (let processes = 1; ; processes++) {
    let own = 0;
    const serve: typeof mock.fetch = async (url, init) => {
      const { body } = init as { readonly body?: unknown };
      const isCounted = typeof body === "string" && !body.includes("ExchangeApiKey");
      const response = await mock.fetch(url, init);
      calls += isCounted ? 1 : 0;
      own += isCounted ? 1 : 0;
      if (own >= callsMax && processes <= kills) process.halt();
      return response;
    };
    const clients = clientsOf(night);
    const process = startProcess(fixture, { clients, durable: journal, serve, onChanged: "import" });
    const result = await process.ended;
    if (result === "halted") continue;
    await mock.clock.advance("1m");
    const { state } = await mock.control.getSnapshot();
    const uploads = state.uploads.length - before.uploads.length;
    return { result, processes, calls, uploads, tasks: state.tasks.length - before.tasks.length };
  }
}

describe("three nights of 300 clients with 5 new, 3 changed and 2 removed ones", () => {
  it("take at most 40 calls and 8 uploads in the second and the third", async () => {
    await using fixture = await createImportFixture();
    const journal = new MemoryJournal();
    const first = await importNight(fixture, { night: 1, journal });
    expect(first.result.counts).toMatchObject({ imported: 300 });
    expect(first).toMatchObject({ uploads: 300, tasks: 300 });
    for (const night of [2, 3]) {
      const { result, calls, uploads, tasks } = await importNight(fixture, { night, journal });
      const unchanged = 295 + (night - 2) * 3;
      expect(result.counts).toMatchObject({ imported: 8, unchanged, open: 0, failed: 0 });
      expect({ uploads, tasks }).toEqual({ uploads: 8, tasks: 8 });
      expect(calls).toBeLessThanOrEqual(40);
    }
    const again = await importNight(fixture, { night: 3, journal });
    expect(again).toMatchObject({ calls: 0, uploads: 0, tasks: 0, result: { counts: { unchanged: 306 } } });
  }, 120_000);

  it.each([
    [1, 10],
    [1, 20],
    [1, 30],
    [4, 20],
    [40, 10],
  ])(
    "import the same when %i processes are killed, each after %i calls",
    async (kills, calls) => {
      await using fixture = await createImportFixture();
      const journal = new MemoryJournal();
      await importNight(fixture, { night: 1, journal });
      for (const night of [2, 3]) {
        const imported = await importNight(fixture, { night, journal, calls, kills });
        const { result, processes, uploads, tasks } = imported;
        expect({ uploads, tasks }).toEqual({ uploads: 8, tasks: 8 });
        expect(result.counts).toMatchObject({ open: 0, changed: 0, failed: 0, undecided: 0 });
        expect(processes).toBeLessThan(20);
      }
    },
    120_000,
  );
});

describe("a client that was imported before", () => {
  it("is reported with the documents that are new or changed, and nothing is sent", async () => {
    await using fixture = await createImportFixture();
    const journal = new MemoryJournal();
    const url = (externalId: string, version?: string) => ({
      name: `${externalId}.pdf`,
      type: "w2",
      externalId,
      url: `https://files.example/${externalId}?signed=${Math.random()}`,
      version,
    });
    const client = (...artifacts: ReturnType<typeof url>[]) => [{ externalId: "a", name: "A", artifacts }];
    await fixture.import({ journal, clients: client(url("w2", "1"), url("k1", "1")) });
    const night = async (...artifacts: ReturnType<typeof url>[]) => {
      const result = await fixture.import({ journal, clients: client(...artifacts) });
      const [only] = result.clients();
      return [only?.status, only?.error?.code, only?.error?.message];
    };
    // In another order, with URLs that are signed anew, and without one of them.
    expect(await night(url("k1", "1"), url("w2", "1"))).toEqual(["unchanged", undefined, undefined]);
    expect(await night(url("k1", "1"))).toEqual(["unchanged", undefined, undefined]);
    const changed = ["changed", "IMPORT_CHANGED", expect.stringMatching(/^client "a": .+: "w2", "1099"; /)];
    expect(await night(url("w2", "2"), url("k1", "1"), url("1099", "1"))).toEqual(changed);
    expect((await fixture.mock.control.getSnapshot()).state.tasks).toHaveLength(1);
  });

  it("is not sent when another program imported it, and no document is uploaded", async () => {
    await using fixture = await createImportFixture();
    const clients = clientsOf(1).slice(0, 250);
    await fixture.import({ clients: clients.slice(0, 240) });
    const before = (await fixture.mock.control.listRequests({ limit: 1 })).data[0]?.sequence ?? 0;
    const result = await fixture.import({ clients });
    expect(result.counts).toMatchObject({ imported: 10, exists: 240, failed: 0 });
    const { state } = await fixture.mock.control.getSnapshot();
    expect(state.uploads).toHaveLength(250);
    const after = (await fixture.mock.control.listRequests({ limit: 1 })).data[0]?.sequence ?? 0;
    expect(after - before).toBeLessThan(40);
  });

  it("with a client of the workspace that has no tax preparation, is imported", async () => {
    await using fixture = await createImportFixture();
    const { taxClients } = fixture.createClient();
    const input = { name: "By hand", externalId: "client-0", returnType: "F1040", taxYear: 2025 };
    await fixture.mock.clock.runUntil(taxClients.create(input));
    const result = await fixture.import({ clients: clientsOf(1).slice(0, 1) });
    expect(result.counts).toMatchObject({ imported: 1 });
  });

  it("is left to people, and no other, when one of its documents cannot be read", async () => {
    await using fixture = await createImportFixture();
    const journal = new MemoryJournal();
    const [good, bad] = clientsOf(1).slice(0, 2) as [ImportClient, ImportClient];
    await fixture.import({ journal, clients: [good, bad] });
    const file = () => {
      throw Object.assign(new Error("gone"), { code: "ENOENT" });
    };
    const artifacts = [{ ...bad.artifacts![0]!, url: undefined as never, file, mimeType: "application/pdf" }];
    const result = await fixture.import({ journal, clients: [good, { ...bad, artifacts }] });
    expect([...result.clients()].map(({ status, error }) => [status, error?.message])).toEqual([
      ["unchanged", undefined],
      ["undecided", expect.stringMatching(/^client "client-1", document "w2-1": .+\(ENOENT\)$/)],
    ]);
  });

  it("is no client of a night whose input does not have it, when it failed with a document and has no job", async () => {
    await using fixture = await createImportFixture();
    const journal = new MemoryJournal();
    const [good, { artifacts = [], ...bad }] = clientsOf(1).slice(0, 2) as [ImportClient, ImportClient];
    const unreadable: (typeof artifacts)[number] = {
      name: "w2.pdf",
      type: "w2",
      externalId: "unreadable",
      mimeType: "application/pdf",
      file: () => Promise.reject(new Error("gone")),
    };
    const first = await fixture.import({
      journal,
      clients: [good, { ...bad, artifacts: [...artifacts, unreadable] }],
    });
    expect(first.counts).toMatchObject({ imported: 1, failed: 1 });
    expect(journal.entries.join("\n")).toContain('"upload","client-1"');
    const next = await fixture.import({ journal, clients: [good] });
    expect([...next.clients()].map(({ externalId }) => externalId)).toEqual(["client-0"]);
    expect(next.counts).toMatchObject({ unchanged: 1, failed: 0 });
  });
});

describe("documents that were added by hand", () => {
  const [first, second] = [clientWith(1, "of 1"), clientWith(2, "of 2")];

  it.each<[string, (entries: readonly string[]) => readonly string[], string]>([
    ["have changed", (entries) => entries, "changed"],
    ["are not known", (entries) => entries.filter((entry) => !/^\["(attach|start)/.test(entry)), "undecided"],
  ])("are those of their client when the caller says so, where they %s", async (_, journalOf, status) => {
    await using fixture = await createImportFixture();
    const { mock } = fixture;
    const whole = new MemoryJournal();
    await fixture.import({ clients: [first, second], journal: whole });
    await mock.clock.advance("1m");
    const journal = new MemoryJournal(journalOf(whole.entries));
    const night = (options: Partial<ImportOptions>) =>
      fixture.import({ clients: [clientWith(1, "other of 1"), second], journal, ...options });
    expect((await night({})).counts[status as "changed"]).toBeGreaterThan(0);
    const before = (await mock.control.getSnapshot()).state;
    const accepted = await night({ onChanged: "accept" });
    expect(accepted.counts).toMatchObject({ unchanged: 2, open: 0 });
    const after = (await mock.control.getSnapshot()).state;
    expect([after.tasks, after.uploads]).toEqual([before.tasks, before.uploads]);
    for (const onChanged of ["report", "import"] as const)
      expect((await night({ onChanged })).counts).toMatchObject({ unchanged: 2, open: 0 });
    expect((await night({ clients: [clientWith(1, "newest of 1"), second] })).counts.changed).toBe(1);
  });
});
