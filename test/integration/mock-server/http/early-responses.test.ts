// A request that is refused before its body has arrived must not cost the connection: the next request of a client that
// keeps it alive comes behind the rest of the body.

import { once } from "node:events";
import { Agent, type IncomingMessage, request } from "node:http";
import { createMockServer, type MockServer } from "@workspace-tasks/mock-server";
import { afterAll, beforeAll, expect, it } from "vitest";
import { workspaceToken } from "../../../support/mock-client.ts";

let mock: MockServer;
let token: string;
let upload: string;
beforeAll(async () => {
  mock = await createMockServer();
  token = await workspaceToken(mock);
  const headers = { ...tus(), "upload-length": "4" };
  const created = await fetch(`${mock.baseUrl}/api/uploads`, { method: "POST", headers });
  upload = created.headers.get("location") ?? "";
});
afterAll(() => mock.close());

const tus = () => ({ "tus-resumable": "1.0.0", authorization: `Bearer ${token}` });
const bytesType = { "content-type": "application/offset+octet-stream" };
const patch = (headers: object, path = upload) => ({
  method: "PATCH",
  path,
  headers: { ...tus(), ...bytesType, ...headers },
});
const post = (path: string, headers: object = {}) => ({ method: "POST", path, headers });

interface Refused {
  readonly method: string;
  readonly path: string;
  readonly headers: object;
}

const refusals: readonly (readonly [status: number, what: string, refused: () => Refused])[] = [
  [412, "an upload without its protocol", () => post("/api/uploads")],
  [401, "an upload without a token", () => post("/api/uploads", { "tus-resumable": "1.0.0" })],
  [401, "an upload with a wrong token", () => patch({ authorization: "Bearer gone", "upload-offset": "0" })],
  [400, "an upload without a length", () => post("/api/uploads", tus())],
  [405, "bytes without the URL of an upload", () => patch({ "upload-offset": "0" }, "/api/uploads")],
  [404, "bytes of an unknown upload", () => patch({ "upload-offset": "0" }, "/api/uploads/unknown")],
  [409, "bytes at another offset", () => patch({ "upload-offset": "2" })],
  [413, "more bytes than the upload has", () => patch({ "upload-offset": "0" })],
  [415, "bytes of another type", () => patch({ "upload-offset": "0", "content-type": "text/plain" })],
  [404, "an unknown control call", () => post("/_mock/v1/unknown")],
  [405, "a control call with another method", () => post("/_mock/v1/health")],
  [400, "a control call of another type", () => post("/_mock/v1/tasks", { "content-type": "text/plain" })],
  [
    400,
    "a control call that is no JSON",
    () => post("/_mock/v1/tasks", { "content-type": "application/json" }),
  ],
  [404, "an unknown path", () => post("/unknown")],
  [404, "an unknown world", () => post("/w/unknown/graphql")],
  [404, "a post to the root", () => post("/")],
  [403, "a foreign host", () => post("/graphql", { host: "foreign.example" })],
  [403, "a foreign page", () => post("/api/uploads", { origin: "https://foreign.example" })],
  [415, "a GraphQL request of another type", () => post("/graphql", { "content-type": "text/plain" })],
  [405, "a GraphQL request with another method", () => ({ ...post("/graphql"), method: "PUT" })],
];

const cases = refusals.flatMap(([status, what, refused]) =>
  [200_000, 900_000].flatMap((bytes) =>
    [true, false].map((chunked) => ({ status, what, refused, bytes, chunked })),
  ),
);

it.each(cases)(
  "$status for $what, with $bytes bytes, chunked: $chunked, leaves the connection",
  async (each) => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    try {
      const { headers, ...refused } = each.refused();
      const length = each.chunked ? {} : { "content-length": each.bytes };
      const options = { ...refused, headers: { ...headers, ...length } };
      expect(await statusOf(agent, options, Buffer.alloc(each.bytes))).toBe(each.status);
      const next = { method: "GET", path: "/_mock/v1/health", headers: {} };
      expect(await statusOf(agent, next)).toBe(200);
    } finally {
      agent.destroy();
    }
  },
);

async function statusOf(agent: Agent, options: Refused, body?: Buffer): Promise<number | undefined> {
  const { hostname, port } = new URL(mock.baseUrl);
  const sent = request({ hostname, port, agent, ...options, headers: { ...options.headers } });
  const isSent = once(sent, "finish");
  sent.end(body);
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  response.resume();
  await Promise.all([once(response, "close"), isSent]);
  return response.statusCode;
}
