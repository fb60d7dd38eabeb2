// The parts of the client in a few lines each.

import { createReadStream } from "node:fs";
import { writeFile } from "node:fs/promises";
import { createMockServer, type MockServer } from "@workspace-tasks/mock-server";
import { createClient, postgresRateLimitStore, TaskFailedError } from "@workspace-tasks/sdk";
import pg from "pg";
import { afterAll, expect, it, vi } from "vitest";
import { withFolder } from "../test/support/with-folder.ts";

const log = vi.spyOn(console, "log").mockImplementation(() => {});
afterAll(() => log.mockRestore());

/** A secret store. */
const readSecretOf = (mock: MockServer) => async (_name: string) => mock.apiKey;

it("a client reads its key from a function at every token exchange", async () => {
  await using mock = await createMockServer();
  const { baseUrl } = mock;
  const readSecret = readSecretOf(mock);
  // #region create-client
  const client = createClient({ baseUrl, apiKey: () => readSecret("workspace-tasks-api-key") });
  const me = await client.me();
  // #endregion
  expect(me.__typename).toBe("WorkspaceUser");
  await client.close();
});

it("a client uploads a file, starts a task with it, waits for it, and lists", () =>
  withFolder(async (folder) => {
    await using mock = await createMockServer();
    await using client = createClient({ baseUrl: mock.baseUrl, apiKey: mock.apiKey });
    const path = `${folder}/w2.pdf`;
    await writeFile(path, "%PDF-1.7");
    // #region upload
    const { uploadId } = await client.uploads.upload(createReadStream(path), {
      fileName: "w2.pdf",
      mimeType: "application/pdf",
    });
    // #endregion
    const { taskId } = await client.taxClients.create({
      name: "Alma Reyes",
      externalId: "alma-1",
      returnType: "F1040",
      taxYear: 2025,
      uploadIds: [uploadId],
    });
    if (taskId === null) throw new Error("expected a task for the upload");
    // #region wait-for
    try {
      const { type, result } = await client.tasks.waitFor(taskId, { deadlineMs: 600_000 });
      console.log(type, result);
    } catch (error) {
      if (!(error instanceof TaskFailedError)) throw error;
      console.log(error.task.errorMessage);
    }
    // #endregion
    // #region list
    for await (const { name, returnType } of client.taxClients.list()) console.log(name, returnType);
    const newest = await client.taxClients.list().toArray({ maxItems: 10 });
    // #endregion
    expect(newest).toHaveLength(1);
  }));

it("clients of several processes share a rate limit through PostgreSQL", async () => {
  const [baseUrl, apiKey] = ["https://api.tax.example", "key_1234567890"];
  // #region rate-limit-store
  const pool = new pg.Pool({ connectionString: process.env["DATABASE_URL"] });
  const client = createClient({ baseUrl, apiKey, rateLimit: { store: postgresRateLimitStore(pool) } });
  // #endregion
  expect(client.rateLimit()).toBeUndefined();
  await client.close();
  await pool.end();
});
