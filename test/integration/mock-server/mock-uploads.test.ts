import { once } from "node:events";
import { request } from "node:http";
import { createMockServer, type MockServer } from "@workspace-tasks/mock-server";
import { expect, it } from "vitest";
import { workspaceToken } from "../../support/mock-client.ts";
import { requestBytes, sendRaw } from "../../support/raw-http.ts";

async function createUpload(mock: MockServer, lengthBytes: number) {
  const authorization = `Bearer ${await workspaceToken(mock)}`;
  const headers = { "tus-resumable": "1.0.0", authorization };
  const created = await fetch(`${mock.baseUrl}/api/uploads`, {
    method: "POST",
    headers: { ...headers, "upload-length": String(lengthBytes) },
  });
  const location = new URL(created.headers.get("location") ?? "", mock.baseUrl);
  const arrived = async () =>
    Number((await fetch(location, { method: "HEAD", headers })).headers.get("upload-offset"));
  const patch = (offsetBytes: number, body: string) =>
    fetch(location, { method: "PATCH", headers: { ...headers, ...offsetHeaders(offsetBytes) }, body });
  return { location, headers, arrived, patch };
}

const offsetHeaders = (bytes: number) => ({
  "upload-offset": String(bytes),
  "content-type": "application/offset+octet-stream",
});

it("an upload keeps the bytes received before a lost connection, and the client resumes there", async () => {
  await using mock = await createMockServer();
  const { location, headers, arrived, patch } = await createUpload(mock, 10);
  const broken = request(location, {
    method: "PATCH",
    headers: { ...headers, ...offsetHeaders(0), "content-length": 10 },
  });
  broken.on("error", () => undefined);
  broken.write("0123456");
  await expect.poll(arrived, { interval: 1 }).toBe(7);
  broken.destroy();
  await expect.poll(async () => (await patch(7, "789")).status, { interval: 1 }).toBe(204);
  expect(await arrived()).toBe(10);
  expect((await mock.control.getSnapshot()).state.uploadContents).toEqual([btoa("0123456789")]);
});

it("the Location of an upload has no host, which a proxy may have rewritten", async () => {
  await using mock = await createMockServer({ hostsAllowed: ["uploads.test"] });
  const authorization = `Bearer ${await workspaceToken(mock)}`;
  const { headers } = await sendRaw(
    Number(new URL(mock.baseUrl).port),
    requestBytes({
      path: "/api/uploads",
      host: "uploads.test:8080",
      headers: [
        ["Tus-Resumable", "1.0.0"],
        ["Authorization", authorization],
        ["Upload-Length", "1"],
      ],
    }),
  );
  expect(headers["location"]).toMatch(/^\/api\/uploads\/[0-9a-f-]{36}$/);
});

it("an upload rejects bytes beyond Upload-Length and keeps those within it", async () => {
  await using mock = await createMockServer();
  const { location, headers, arrived } = await createUpload(mock, 4);
  const chunked = request(location, { method: "PATCH", headers: { ...headers, ...offsetHeaders(0) } });
  chunked.write("abc");
  await expect.poll(arrived, { interval: 1 }).toBe(3);
  chunked.end("defgh");
  const [response] = await once(chunked, "response");
  expect(response.statusCode).toBe(413);
  response.resume();
  expect(await arrived()).toBe(3);
});

it("an upload with faults loses no byte when the client asks for the offset", async () => {
  await using mock = await createMockServer();
  const { arrived, patch } = await createUpload(mock, 6);
  await mock.control.setFaults({
    api: [
      {
        operation: "upload.patch",
        instructions: [
          { kind: "status", status: 503 },
          { kind: "reset-before-effect" },
          { kind: "reset-after-effect" },
        ],
      },
    ],
  });
  expect((await patch(0, "abc")).status).toBe(503);
  await expect(patch(0, "abc")).rejects.toThrow(TypeError);
  expect(await arrived()).toBe(0);
  await expect(patch(0, "abc")).rejects.toThrow(TypeError);
  await mock.control.setFaults({});
  expect(await arrived()).toBe(3);
  expect((await patch(3, "def")).status).toBe(204);
  expect((await mock.control.getFaults()).fired.map(({ subject }) => subject)).toEqual(
    Array(3).fill("upload.patch"),
  );
});
