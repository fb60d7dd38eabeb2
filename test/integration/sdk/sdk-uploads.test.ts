import { createReadStream } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { MockServer } from "@workspace-tasks/mock-server";
import type { UploadBody, UploadProgress, WorkspaceTasksClient } from "@workspace-tasks/sdk";
import { describe, expect, it } from "vitest";
import { createFreezingProxy } from "../../support/freezing-proxy.ts";
import { createSdkFixture, transports } from "../../support/sdk-fixture.ts";
import { withFolder } from "../../support/with-folder.ts";

const file = { fileName: "w2.pdf", mimeType: "application/pdf" };
const bytesOf = (length: number) =>
  Uint8Array.from({ length }, (_, index) => (index * 31 + (index >> 9)) % 251);

/** What the service holds of an upload. */
async function stored(mock: MockServer, uploadId: string) {
  const { uploads, uploadContents } = (await mock.control.getSnapshot()).state;
  const index = uploads.findIndex(({ id }) => id === uploadId);
  return { record: uploads[index], content: Buffer.from(uploadContents[index] ?? "", "base64") };
}

describe("a Node stream that fails before it is read", () => {
  const gone = () => createReadStream(join(import.meta.dirname, "no-such-file"));
  const invalid = [
    ["a resumeUrl of another place", { ...file, resumeUrl: "https://elsewhere.test/api/uploads/1" }],
    ["options without a name", { mimeType: "application/pdf" }],
  ] as const;

  it("fails the upload with its error, and not the process", async () => {
    await using fixture = await createSdkFixture("http");
    let resumeUrl = "";
    const onProgress = ({ uploadUrl }: UploadProgress) => {
      resumeUrl = uploadUrl;
      throw new Error("stop");
    };
    const started = fixture.client.uploads.upload(bytesOf(10), { ...file, onProgress });
    await expect(started).rejects.toMatchObject({ code: "ON_PROGRESS_FAILED" });
    for (const options of [file, { ...file, resumeUrl }])
      await expect(fixture.client.uploads.upload(gone(), options)).rejects.toMatchObject({
        code: "UPLOAD_BODY_INVALID",
        cause: { code: "ENOENT" },
      });
  });

  it.each(invalid)("is listened to although the upload is rejected for %s", async (_, options) => {
    await using fixture = await createSdkFixture("http");
    const stream = gone();
    const upload = fixture.client.uploads.upload(stream, options as typeof file);
    await expect(upload).rejects.toMatchObject({ code: "ARGUMENT_INVALID" });
    // An error without a listener would end the test run.
    await expect.poll(() => stream.closed).toBe(true);
  });

  it.each(invalid)(
    "is closed, if its file exists, when the upload is rejected for %s",
    async (_, options) => {
      await using fixture = await createSdkFixture("http");
      const stream = createReadStream(import.meta.filename);
      const upload = fixture.client.uploads.upload(stream, options as typeof file);
      await expect(upload).rejects.toMatchObject({ code: "ARGUMENT_INVALID" });
      await expect.poll(() => stream.closed).toBe(true);
    },
  );

  it("is listened to and closed when the client is closed already", async () => {
    await using fixture = await createSdkFixture("http");
    await fixture.client.close();
    const stream = gone();
    await expect(fixture.client.uploads.upload(stream, file)).rejects.toMatchObject({
      code: "CLIENT_CLOSED",
    });
    await expect.poll(() => stream.closed).toBe(true);
  });
});

describe.each(transports)("uploads over %s", (transport) => {
  it("an upload arrives byte for byte, with name and type, and is not counted against the rate limit", async () => {
    await using fixture = await createSdkFixture(transport);
    const bytes = bytesOf(250_000);
    const { uploadId, sizeBytes } = await fixture.client.uploads.upload(bytes, {
      ...file,
      chunkBytes: 100_000,
    });
    const { record, content } = await stored(fixture.mock, uploadId);
    expect(sizeBytes).toBe(250_000);
    expect(content.equals(bytes)).toBe(true);
    expect(record).toMatchObject({ fileName: "w2.pdf", fileType: "application/pdf", lengthBytes: 250_000 });
    expect(record?.completedAtMs).not.toBeNull();
    expect(
      (await fixture.mock.control.listRateLimits()).data.reduce((used, limit) => used + limit.used, 0),
    ).toBe(0);
  });

  it("an upload that is too large is rejected before a byte is sent", async () => {
    await using fixture = await createSdkFixture(transport, {
      mock: { settings: { bounds: { uploadBytesMax: 1_000 } } },
    });
    const steps: number[] = [];
    const upload = fixture.client.uploads.upload(bytesOf(1_001), {
      ...file,
      onProgress: ({ sentBytes }) => steps.push(sentBytes),
    });
    await expect(upload).rejects.toMatchObject({
      code: "UPLOAD_REJECTED",
      httpStatus: 413,
      outcome: "rejected",
    });
    expect(steps).toEqual([]);
  });

  it("an upload with a read-only key is rejected", async () => {
    await using fixture = await createSdkFixture(transport);
    const { apiKey } = await fixture.mock.control.createApiKey({ access: "read_only" });
    const upload = fixture.createClient({ apiKey }).uploads.upload(bytesOf(5), file);
    await expect(upload).rejects.toMatchObject({ code: "PERMISSION_DENIED" });
  });
});

it("an upload that takes longer than the lifetime of a token continues with fresh ones", async () => {
  await using fixture = await createSdkFixture("in-process");
  const bytes = bytesOf(50_000);
  async function* slow() {
    for (let start = 0; start < bytes.byteLength; start += 5_000) {
      await fixture.mock.clock.advance("100s");
      yield bytes.subarray(start, start + 5_000);
    }
  }
  const { uploadId } = await fixture.client.uploads.upload(slow(), { ...file, chunkBytes: 5_000 });
  expect((await stored(fixture.mock, uploadId)).content.equals(bytes)).toBe(true);
  const exchanges = await fixture.requests("exchangeSurfaceRefreshTokenForAccessTokens");
  expect(exchanges).toBeGreaterThan(3);
  expect(exchanges).toBeLessThanOrEqual(11);
});

describe("an upload over interrupted connections", () => {
  const sources: Record<string, (path: string, bytes: Uint8Array) => UploadBody> = {
    "of bytes": (_, bytes) => bytes,
    "of a file's stream": (path) => createReadStream(path),
  };
  const upload = (client: WorkspaceTasksClient, body: UploadBody) =>
    client.uploads.upload(body, { ...file, chunkBytes: 400_000 });

  it.each(Object.entries(sources))("%s arrives complete, and confirmed bytes are not sent again", (_, make) =>
    withFolder(async (folder) => {
      await using fixture = await createSdkFixture("http");
      await using proxy = await createFreezingProxy(Number(new URL(fixture.mock.baseUrl).port));
      const bytes = bytesOf(2_000_000);
      await writeFile(join(folder, "w2.pdf"), bytes);
      const client = fixture.createClient({ baseUrl: `http://127.0.0.1:${proxy.port}` });
      proxy.cutAfter(250_000, 700_000, 300_000, 1_000);
      const { uploadId } = await upload(client, make(join(folder, "w2.pdf"), bytes));
      expect((await stored(fixture.mock, uploadId)).content.equals(bytes)).toBe(true);
      expect(proxy.cuts).toBe(4);
    }),
  );

  it("an upload fails when no request succeeds any more, and can be resumed later", async () => {
    await using fixture = await createSdkFixture("http");
    await using proxy = await createFreezingProxy(Number(new URL(fixture.mock.baseUrl).port));
    const client = fixture.createClient({ baseUrl: `http://127.0.0.1:${proxy.port}` });
    const bytes = bytesOf(1_000_000);
    let uploadUrl = "";
    let confirmed = 0;
    proxy.cutAfter(600_000, ...Array.from({ length: 50 }, () => 1));
    const first = client.uploads.upload(bytes, {
      ...file,
      chunkBytes: 400_000,
      maxRetries: 2,
      onProgress(progress) {
        uploadUrl = progress.uploadUrl;
        confirmed = progress.sentBytes;
      },
    });
    await expect(first).rejects.toMatchObject({ code: "UPLOAD_FAILED", outcome: "unknown" });
    expect(confirmed).toBe(400_000);

    proxy.cutAfter();
    const resumed: number[] = [];
    const { uploadId } = await client.uploads.upload(bytes, {
      ...file,
      resumeUrl: uploadUrl,
      onProgress: ({ sentBytes }) => resumed.push(sentBytes),
    });
    expect((await stored(fixture.mock, uploadId)).content.equals(bytes)).toBe(true);
    expect(resumed[0]).toBeGreaterThanOrEqual(400_000);
  });
});
