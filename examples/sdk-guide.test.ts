// The snippets of the SDK guide: options, errors, pages, uploads that continue, endpoints.

import { createReadStream } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createMockServer, type MockServer } from "@workspace-tasks/mock-server";
import {
  createClient,
  fileSecrets,
  isWorkspaceTasksError,
  readSigningSecrets,
  type TaxClient,
  type UploadProgress,
} from "@workspace-tasks/sdk";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { withFolder } from "../test/support/with-folder.ts";

let mock: MockServer;
beforeAll(async () => {
  mock = await createMockServer();
});
afterAll(() => mock.close());

const log = vi.spyOn(console, "log").mockImplementation(() => {});
afterAll(() => log.mockRestore());

it("a client takes the identity of the application and limits for its calls", async () => {
  const { baseUrl, gatewayUrl, apiKey, partnerApiKey } = mock;
  // #region client-options
  const client = createClient({
    baseUrl,
    gatewayUrl, // for client.partner
    apiKey,
    partnerApiKey, // for partner.workspaces.create
    sourcePlatform: "acme-portal",
    headers: { "user-agent": "acme-portal/4.2" },
    deadlineMs: 30_000, // a whole call: queue, token, attempts and pauses
  });
  // #endregion
  const me = await client.me();
  if (me.__typename !== "WorkspaceUser") throw new Error("the key belongs to no workspace");
  const workspaceId = me.workspace.id;
  expect(workspaceId).toBe(mock.workspaceId);
  await client.close();
});

it("a call takes options, and returns its metadata on request", async () => {
  await using client = createClient({ baseUrl: mock.baseUrl, apiKey: mock.apiKey });
  const { taskId } = await mock.control.startTask({ taskType: "BINDER" });
  const controller = new AbortController();
  // #region call-options
  const task = await client.tasks.get(taskId, {
    priority: "interactive", // before other waiting calls
    deadlineMs: 5_000,
    signal: controller.signal,
  });
  const { data, meta } = await client.tasks.get(taskId).withMeta();
  console.log(task.status, data.status, meta.attempts, meta.queuedMs, meta.requestId);
  // #endregion
  expect(data.id).toBe(taskId);
});

it("a client of the firm is created once, also when the outcome of a call is unknown", async () => {
  await using client = createClient({ baseUrl: mock.baseUrl, apiKey: mock.apiKey });
  // #region errors
  async function createOnce(externalId: string): Promise<TaxClient> {
    const input = { name: "Alma Reyes", externalId, returnType: "F1040", taxYear: 2025 };
    try {
      return (await client.taxClients.create(input)).client;
    } catch (error) {
      if (!isWorkspaceTasksError(error)) throw error;
      // It exists, or it may exist: the response was lost.
      if (error.code !== "CONFLICT" && error.outcome !== "unknown") throw error;
      for await (const found of client.taxClients.list()) if (found.externalId === externalId) return found;
      throw error;
    }
  }
  // #endregion
  const { id } = await createOnce("alma-1");
  expect((await createOnce("alma-1")).id).toBe(id);
  await mock.control.setFaults({
    api: [{ operation: "createClient", instructions: [{ kind: "reset-after-effect" }] }],
  });
  expect((await createOnce("bo-1")).externalId).toBe("bo-1");
  await mock.control.setFaults({});
});

it("a list continues from a checkpoint, page by page", async () => {
  await using client = createClient({ baseUrl: mock.baseUrl, apiKey: mock.apiKey });
  for (let count = 0; count < 3; count++) await mock.control.startTask({ taskType: "BINDER" });
  const seen: string[] = [];
  const save = vi.fn<(offset: number | null) => Promise<void>>(async () => {});
  // #region pages
  for await (const { items, next } of client.tasks.list({ types: ["BINDER"], limit: 2 }).pages()) {
    seen.push(...items.map(({ id }) => id));
    await save(next); // later: client.tasks.list({ types: ["BINDER"], limit: 2, offset: next })
  }
  // #endregion
  expect(seen.length).toBeGreaterThanOrEqual(3);
  expect(save).toHaveBeenLastCalledWith(null);
});

it("an upload continues in another process", () =>
  withFolder(async (folder) => {
    await using client = createClient({ baseUrl: mock.baseUrl, apiKey: mock.apiKey });
    const path = `${folder}/w2.pdf`;
    await writeFile(path, "%PDF-1.7 ".repeat(4));
    let saved = "";
    const save = async (uploadUrl: string) => {
      saved = uploadUrl;
    };
    const stop = new AbortController();
    const file = { fileName: "w2.pdf", mimeType: "application/pdf", chunkBytes: 10 };
    // #region upload-progress
    const onProgress = async ({ sentBytes, totalBytes, uploadUrl }: UploadProgress) => {
      console.log(`${sentBytes} of ${totalBytes ?? "?"} bytes`);
      await save(uploadUrl);
    };
    // #endregion
    const stopAfterOne = async (progress: UploadProgress) => {
      await onProgress(progress);
      stop.abort();
    };
    await expect(
      client.uploads.upload(createReadStream(path), {
        ...file,
        signal: stop.signal,
        onProgress: stopAfterOne,
      }),
    ).rejects.toMatchObject({ code: "ABORTED" });
    // #region upload-resume
    const { uploadId } = await client.uploads.upload(createReadStream(path), {
      fileName: "w2.pdf",
      mimeType: "application/pdf",
      resumeUrl: saved, // the same body, from its beginning
    });
    // #endregion
    expect(uploadId).toBeTruthy();
  }));

it("an endpoint is created once for a URL, and its secret is stored", () =>
  withFolder(async (folder) => {
    await using client = createClient({ baseUrl: mock.baseUrl, apiKey: mock.apiKey });
    const url = "https://receiver.example/webhooks";
    const path = join(folder, "webhook-secrets.json");
    // #region endpoint
    // At every start.
    const { endpoint, changed } = await client.webhooks.ensureEndpoint({
      url,
      eventTypes: ["task.completed", "task.failed"], // without: all events
      secrets: fileSecrets(path),
    });
    // #endregion
    expect(endpoint.url).toBe(url);
    expect(changed).toBe(true);
    expect(readSigningSecrets(await fileSecrets(path).read())).toHaveLength(1);
  }));

it("a client sends a document of the application's own", async () => {
  await using client = createClient({ baseUrl: mock.baseUrl, apiKey: mock.apiKey });
  // #region own-document
  const { me } = await client.request<{ me: { workspace: { slug: string } } }>(
    "query Slug { me { ... on WorkspaceUser { workspace { slug } } } }",
  );
  // #endregion
  expect(me.workspace.slug).toBeTruthy();
});
