import type { MockServer } from "@workspace-tasks/mock-server";
import { mockTest as it } from "@workspace-tasks/mock-server/vitest";
import { describe, expect } from "vitest";
import { parseMetadata } from "../../../mock-server/upload-handler.ts";
import { workspaceToken } from "../../support/mock-client.ts";

type Call = {
  method: string;
  path?: string;
  headers?: Record<string, string>;
  body?: string;
  token?: string | null;
};

async function uploader(mock: MockServer) {
  const token = await workspaceToken(mock);
  return (call: Call) =>
    mock.fetch(call.path ?? "/api/uploads", {
      method: call.method,
      headers: {
        "tus-resumable": "1.0.0",
        ...(call.token === null ? {} : { authorization: `Bearer ${call.token ?? token}` }),
        ...call.headers,
      },
      ...(call.body === undefined ? {} : { body: call.body }),
    });
}

/** A new upload of so many bytes. */
async function createUpload(mock: MockServer, lengthBytes = 3) {
  const send = await uploader(mock);
  const created = await send({ method: "POST", headers: { "upload-length": String(lengthBytes) } });
  return { send, path: created.headers.get("location") ?? "" };
}

const offset = (bytes: number) => ({
  "upload-offset": String(bytes),
  "content-type": "application/offset+octet-stream",
});

describe("upload", () => {
  it("is created, filled in chunks and complete", async ({ mock }) => {
    const send = await uploader(mock);
    const created = await send({
      method: "POST",
      headers: {
        "upload-length": "10",
        "upload-metadata": `filename ${btoa("w2.pdf")},filetype ${btoa("application/pdf")},final`,
      },
    });
    expect(created.status).toBe(201);
    const location = created.headers.get("location") ?? "";
    expect(location).toMatch(/^\/api\/uploads\/[0-9a-f-]{36}$/);

    const first = await send({ method: "PATCH", path: location, headers: offset(0), body: "01234" });
    expect([first.status, first.headers.get("upload-offset")]).toEqual([204, "5"]);
    const halfway = await send({ method: "HEAD", path: location });
    expect(halfway.headers.get("upload-offset")).toBe("5");
    expect(halfway.headers.get("upload-length")).toBe("10");
    expect(halfway.headers.get("cache-control")).toBe("no-store");
    expect(halfway.headers.get("upload-metadata")).toBe(
      `filename ${btoa("w2.pdf")},filetype ${btoa("application/pdf")},final`,
    );
    const second = await send({ method: "PATCH", path: location, headers: offset(5), body: "56789" });
    expect(second.headers.get("upload-offset")).toBe("10");
    const [upload] = (await mock.control.getSnapshot()).state.uploads;
    expect(upload).toMatchObject({ fileName: "w2.pdf", fileType: "application/pdf", offsetBytes: 10 });
    expect(upload?.completedAtMs).not.toBeNull();
    expect((await mock.control.getSnapshot()).state.uploadContents).toEqual([btoa("0123456789")]);
  });

  it("takes a deferred length once", async ({ mock }) => {
    const send = await uploader(mock);
    const created = await send({ method: "POST", headers: { "upload-defer-length": "1" } });
    const path = created.headers.get("location") ?? "";
    expect((await send({ method: "HEAD", path })).headers.get("upload-defer-length")).toBe("1");
    const withLength = { ...offset(0), "upload-length": "4" };
    expect((await send({ method: "PATCH", path, headers: withLength, body: "ab" })).status).toBe(204);
    expect((await send({ method: "HEAD", path })).headers.get("upload-length")).toBe("4");
    const changed = { ...offset(2), "upload-length": "5" };
    expect((await send({ method: "PATCH", path, headers: changed, body: "cd" })).status).toBe(400);
  });

  it("does not exist after DELETE", async ({ mock }) => {
    const { send, path } = await createUpload(mock);
    expect((await send({ method: "DELETE", path })).status).toBe(204);
    expect((await send({ method: "HEAD", path })).status).toBe(404);
  });

  it("of another workspace is as if it did not exist", async ({ mock }) => {
    const { send, path } = await createUpload(mock);
    const snapshot = await mock.control.getSnapshot();
    const other = { ...snapshot.state.workspaces[0], id: "other-workspace", slug: "other" };
    await mock.control.restoreSnapshot({
      ...snapshot,
      state: { ...snapshot.state, workspaces: [...snapshot.state.workspaces, other] },
    });
    const { apiKey } = await mock.control.createApiKey({ workspaceId: "other-workspace" });
    const token = await workspaceToken(mock, apiKey);
    expect((await send({ method: "HEAD", path })).status).toBe(200);
    expect((await send({ method: "HEAD", path, token })).status).toBe(404);
  });
});

describe("an upload request is rejected", () => {
  const rejections: [string, number, Record<string, string>, Partial<Call>?][] = [
    ["without a token", 401, { "upload-length": "1" }, { token: null }],
    ["with an invalid token", 401, { "upload-length": "1" }, { token: "x.y.z" }],
    ["without a length", 400, {}],
    ["with a length and without one", 400, { "upload-length": "1", "upload-defer-length": "1" }],
    ["with a length that is not a number", 400, { "upload-length": "-1" }],
    ["with more bytes than the bound", 413, { "upload-length": "999999999999" }],
    ["with metadata that is not base64", 400, { "upload-length": "1", "upload-metadata": "filename w2.pdf" }],
    ["of another protocol version", 412, { "upload-length": "1", "tus-resumable": "0.2.2" }],
    ["that addresses no upload", 405, offset(0), { method: "PATCH", body: "a" }],
  ];
  it.for(rejections)("%s", async ([, status, headers, call], { mock }) => {
    const send = await uploader(mock);
    const response = await send({ method: "POST", headers, ...call });
    expect(response.status).toBe(status);
    expect(await response.json()).toEqual({ error: { message: expect.any(String) } });
  });

  it.for([
    ["at another offset", 409, offset(1), "a"],
    ["of another media type", 415, { ...offset(0), "content-type": "text/plain" }, "a"],
    ["with more bytes than were announced", 413, offset(0), "abcdef"],
    ["without an offset", 400, { "content-type": "application/offset+octet-stream" }, "a"],
  ] as const)("%s", async ([, status, headers, body], { mock }) => {
    const { send, path } = await createUpload(mock);
    expect((await send({ method: "PATCH", path, headers, body })).status).toBe(status);
  });

  it("for a change with a read_only key, which can still read the offset", async ({ mock }) => {
    const { send, path } = await createUpload(mock);
    const token = await workspaceToken(
      mock,
      (await mock.control.createApiKey({ access: "read_only" })).apiKey,
    );
    expect((await send({ method: "HEAD", path, token })).status).toBe(200);
    expect((await send({ method: "PATCH", path, headers: offset(0), body: "abc", token })).status).toBe(403);
  });

  it("while another one writes to the same upload", async ({ mock }) => {
    const { send, path } = await createUpload(mock, 4);
    const { readable: body, writable } = new TransformStream<Uint8Array, Uint8Array>();
    const feed = writable.getWriter();
    const slow = mock.fetch(path, {
      method: "PATCH",
      headers: {
        "tus-resumable": "1.0.0",
        authorization: `Bearer ${await workspaceToken(mock)}`,
        ...offset(0),
      },
      body,
      duplex: "half",
    } as RequestInit);
    await feed.write(new TextEncoder().encode("ab"));
    const uploadId = path.split("/").at(-1);
    const arrived = async () =>
      (await mock.control.getSnapshot()).state.uploads.find(({ id }) => id === uploadId)?.offsetBytes;
    await expect.poll(arrived, { interval: 1 }).toBe(2);
    expect((await send({ method: "PATCH", path, headers: offset(2), body: "cd" })).status).toBe(423);
    await feed.close();
    expect((await slow).status).toBe(204);
    expect((await send({ method: "PATCH", path, headers: offset(2), body: "cd" })).status).toBe(204);
  });

  it("when all uploads together would exceed the limit", async ({ mock }) => {
    const send = await uploader(mock);
    const create = async (bytes: number) => {
      const headers = { "upload-length": String(bytes), "content-type": "application/offset+octet-stream" };
      return (await send({ method: "POST", headers, body: "a".repeat(bytes) })).status;
    };
    for (let index = 0; index < 2; index++) expect(await create(64 * 1_048_576)).toBe(201);
    expect(await create(1)).toBe(507);
  });
});

it("OPTIONS returns the version, the extensions and the largest size without a token", async ({ mock }) => {
  const response = await mock.fetch("/api/uploads", { method: "OPTIONS" });
  expect(response.status).toBe(204);
  expect(response.headers.get("tus-version")).toBe("1.0.0");
  expect(response.headers.get("tus-extension")).toBe(
    "creation,creation-with-upload,creation-defer-length,termination",
  );
  expect(Number(response.headers.get("tus-max-size"))).toBeGreaterThan(5_000_000);
});

it("POST with X-HTTP-Method-Override is handled as that method", async ({ mock }) => {
  const { send, path } = await createUpload(mock, 1);
  const headers = { ...offset(0), "x-http-method-override": "PATCH" };
  expect((await send({ method: "POST", path, headers, body: "a" })).headers.get("upload-offset")).toBe("1");
});

it("parseMetadata keeps UTF-8 values and keys without a value", () => {
  const value = Buffer.from("Steuererklärung 2025.pdf").toString("base64");
  expect(parseMetadata(`filename ${value}, draft`)).toEqual({
    filename: "Steuererklärung 2025.pdf",
    draft: "",
  });
  expect(parseMetadata(null)).toEqual({});
  expect(() => parseMetadata("a YQ==,a YQ==")).toThrow("distinct keys");
});
