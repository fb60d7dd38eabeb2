import { deferred } from "@workspace-tasks/kernel/deferred.ts";
import { describe, expect, it } from "vitest";
import type { ReadResponse } from "../../../../mock-server/outbound.ts";
import { addJob, resumeImports, startImport } from "../../../../mock-server/rules/partner.ts";
import { appendToUpload, createUpload } from "../../../../mock-server/rules/uploads.ts";
import type { ArtifactRecord, JobRecord } from "../../../../mock-server/state/records.ts";
import { createTestWorld, type TestWorld, type TestWorldOptions } from "../../../support/mock-world.ts";

type WorkInput = { readonly externalId: string; readonly artifacts?: Partial<ArtifactRecord>[] };

const times = { createdAtMs: 0, updatedAtMs: 0 };

/** A job with works, as the partner operations create it. */
function createJob({ world, workspaceId }: TestWorld, works: readonly WorkInput[]): JobRecord {
  const { connections, jobWorks, artifacts } = world.state;
  const active = { status: "active", displayName: null, startInputs: null, settings: null } as const;
  const connection = { id: "connection", workspaceId, providerKey: "example", ...active, ...times };
  connections.set(connection.id, connection);
  const job = addJob(world, connection, { name: "Import" });
  for (const { externalId, artifacts: files = [] } of works) {
    const id = `work-${externalId}`;
    const owner = { workspaceId, connectionId: "connection", jobId: job.id };
    const names = { workId: `w-${externalId}`, name: `Client ${externalId}`, externalId };
    jobWorks.set(id, { id, ...names, ...owner, ...times });
    for (const [index, file] of files.entries()) {
      const artifactId = `${id}-${index}`;
      artifacts.set(artifactId, {
        id: artifactId,
        artifactId: `a-${artifactId}`,
        workspaceId,
        jobId: job.id,
        jobWorkId: id,
        externalId: `file-${index}`,
        name: `file-${index}.pdf`,
        type: "w2",
        status: "pending",
        url: null,
        metadata: null,
        ...times,
        ...file,
      });
    }
  }
  return job;
}

function createScene(works: readonly WorkInput[], options: TestWorldOptions = {}) {
  const bench = createTestWorld(options);
  bench.addEndpoint({ eventTypes: ["documents.synced", "task.running"] });
  return { ...bench, job: createJob(bench, works) };
}

describe("startImport", () => {
  it("reads loopback URLs and leaves out artifacts that cannot be fetched", async () => {
    const asked: string[] = [];
    const read = async (url: string): Promise<ReadResponse> => {
      asked.push(url);
      return url.endsWith("gone")
        ? { status: 404, bytes: 0, mimeType: "text/plain" }
        : { status: 200, bytes: 9, mimeType: "image/tiff" };
    };
    const { world, clock, sent, job } = createScene(
      [
        {
          externalId: "c1",
          artifacts: [
            { url: "http://127.0.0.1:5/w2" },
            { url: "http://localhost:5/gone" },
            { url: "https://files.example/1099" },
          ],
        },
      ],
      { read },
    );
    startImport(world, job);
    await clock.settle();
    expect(asked).toEqual(["http://127.0.0.1:5/w2", "http://localhost:5/gone"]);
    expect([...world.state.artifacts.values()].map(({ status }) => status)).toEqual([
      "uploaded",
      "failed",
      "uploaded",
    ]);
    expect(sent[0]?.event.documents).toMatchObject([
      { fileName: "file-0.pdf", mimeType: "image/tiff" },
      { fileName: "file-2.pdf" },
    ]);
    expect(job.status).toBe("completed");
  });

  for (const [status, customerError] of [
    [403, { code: "CONNECTION_REAUTH_REQUIRED", action: { type: "RECONNECT", connectionId: "connection" } }],
    [404, { code: "DOCUMENT_UNREADABLE", action: { type: "REUPLOAD", connectionId: null } }],
  ] as const) {
    it(`fails the task of a work whose artifacts all respond ${status}, with an action for the customer`, async () => {
      const { world, clock, job } = createScene(
        [{ externalId: "c1", artifacts: [{ url: "http://127.0.0.1:5/w2" }] }],
        { read: async () => ({ status, bytes: 0, mimeType: "text/plain" }) },
      );
      startImport(world, job);
      await clock.advance(60_000);
      expect(job.status).toBe("completed");
      expect([...world.state.tasks.values()]).toMatchObject([
        {
          status: "FAILED",
          errorMessage: "document-classification: no document could be fetched",
          customerError,
          stages: [{ type: "document-classification", status: "FAILED" }],
        },
      ]);
    });
  }

  it("takes a complete upload of the workspace for the document, and reads no other", async () => {
    const asked: string[] = [];
    const read = async (url: string): Promise<ReadResponse> => {
      asked.push(url);
      return { status: 405, bytes: 0, mimeType: "text/plain" };
    };
    const test = createTestWorld({ read });
    test.addEndpoint({ eventTypes: ["documents.synced"] });
    const uploaded = (workspaceId: string, bytes: number) => {
      const metadata = { filetype: "image/png" };
      const upload = createUpload(test.world, workspaceId, { lengthBytes: 3, metadata });
      appendToUpload(test.world, upload, new Uint8Array(bytes));
      return { url: `http://127.0.0.1:5/api/uploads/${upload.id}` };
    };
    const artifacts = [uploaded(test.workspaceId, 3), uploaded(test.workspaceId, 2), uploaded("other", 3)];
    startImport(test.world, createJob(test, [{ externalId: "c1", artifacts }]));
    await test.clock.settle();
    expect(asked).toEqual([artifacts[2]?.url]);
    expect(test.sent[0]?.event.documents).toMatchObject([{ fileName: "file-0.pdf", mimeType: "image/png" }]);
  });

  it("emits no documents.synced for a work without artifacts, and starts its task", async () => {
    const { world, clock, sent, job } = createScene([{ externalId: "c1" }]);
    startImport(world, job);
    await clock.settle();
    expect(sent.map(({ event }) => event.event)).toEqual(["task.running"]);
  });

  it("resumes with the remaining works after a snapshot in the middle", async () => {
    const blocked = deferred();
    const works = [
      { externalId: "c1" },
      { externalId: "c2", artifacts: [{ url: "http://127.0.0.1:5/slow" }] },
      { externalId: "c3" },
    ];
    const old = createScene(works, {
      async read() {
        await blocked.promise;
        return { status: null, error: "aborted" };
      },
    });
    startImport(old.world, old.job);
    await new Promise((resolve) => setImmediate(resolve));
    expect(old.world.state.tasks.size).toBe(1);
    const saved = structuredClone(old.world.state);
    old.world.end();
    blocked.resolve();
    await old.clock.settle();
    expect(old.world.state.tasks.size, "nothing comes after the end").toBe(1);

    const next = createTestWorld({
      seed: 2,
      read: async () => ({ status: 200, bytes: 1, mimeType: "text/csv" }),
    });
    for (const noun of ["clients", "connections", "jobs", "jobWorks", "artifacts", "tasks"] as const) {
      const into: Map<string, unknown> = next.world.state[noun];
      for (const [id, record] of saved[noun]) into.set(id, record);
    }
    resumeImports(next.world);
    await next.clock.settle();
    expect([...next.world.state.jobs.values()][0]?.status).toBe("completed");
    const taskIds = [...next.world.state.jobWorks.values()].map(({ taskId }) => taskId);
    expect(new Set(taskIds).size).toBe(3);
    expect(next.world.state.tasks.size).toBe(3);
  });
});
