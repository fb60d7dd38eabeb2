import { eventCatalog } from "@workspace-tasks/events";
import { createMockServer, type MockServer } from "@workspace-tasks/mock-server";
import { mockHandlers } from "@workspace-tasks/mock-server/msw";
import { HttpResponse, http } from "msw";
import { setupServer } from "msw/node";
import { afterEach, expect, it } from "vitest";
import { jsonPost, workspaceToken } from "../../../support/mock-client.ts";

const addresses = { baseUrl: "https://api.example.com/v2", gatewayUrl: "https://partners.example.com/gw/" };

const stops: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

async function intercept(): Promise<MockServer> {
  const mock = await createMockServer({ listen: false });
  const server = setupServer(
    ...mockHandlers(mock, addresses),
    http.all("*", () => new HttpResponse(null, { status: 421 })),
  );
  server.listen();
  stops.push(() => server.close(), mock.close);
  return mock;
}

const query = (text: string, token?: string) => jsonPost({ query: text }, token);

it("mockHandlers responds to requests to the client's URLs, each router at its own", async () => {
  const mock = await intercept();
  const token = await workspaceToken(mock);
  const base = await fetch(`${addresses.baseUrl}/graphql`, query("{ webhookEventCatalog { name } }", token));
  expect(await base.json()).toMatchObject({ data: { webhookEventCatalog: { length: eventCatalog.length } } });
  const gateway = await fetch(
    "https://partners.example.com/gw/graphql",
    query("{ webhookEventCatalog { name } }", token),
  );
  expect(await gateway.json()).toMatchObject({
    errors: [{ extensions: { code: "GRAPHQL_VALIDATION_FAILED" } }],
  });
  expect((await mock.control.listRequests()).data.map(({ router }) => router)).toEqual(["base", "gateway"]);
});

it("mockHandlers returns an upload URL that the client can use", async () => {
  const mock = await intercept();
  const headers = { "tus-resumable": "1.0.0", authorization: `Bearer ${await workspaceToken(mock)}` };
  const created = await fetch(`${addresses.baseUrl}/api/uploads`, {
    method: "POST",
    headers: { ...headers, "upload-length": "3" },
  });
  const location = created.headers.get("location") ?? "";
  expect(location).toMatch(/^\/v2\/api\/uploads\/[0-9a-f-]{36}$/);
  const patched = await fetch(new URL(location, addresses.baseUrl), {
    method: "PATCH",
    headers: { ...headers, "upload-offset": "0", "content-type": "application/offset+octet-stream" },
    body: "abc",
  });
  expect([patched.status, patched.headers.get("upload-offset")]).toEqual([204, "3"]);
});

it("mockHandlers turns a fault that cuts the connection into a network error", async () => {
  const mock = await intercept();
  await mock.control.setFaults({ api: [{ instructions: [{ kind: "reset-before-effect" }] }] });
  const send = () => fetch(`${addresses.baseUrl}/graphql`, query("{ webhookEventCatalog { name } }"));
  await expect(send()).rejects.toThrow(TypeError);
  expect((await send()).status).toBe(200);
});

it("mockHandlers does not handle requests to other URLs", async () => {
  const mock = await intercept();
  for (const url of ["https://api.example.com/v1/graphql", "https://partners.example.com/graphql"]) {
    expect((await fetch(url, query("{ me { __typename } }"))).status).toBe(421);
  }
  expect((await mock.control.listRequests()).data).toEqual([]);
});

it.each([
  [{ baseURL: "https://api.example.com" }, "mockHandlers: unknown option baseURL; did you mean baseUrl?"],
  [
    { gatewayUrl: "/gateway" },
    'mockHandlers: gatewayUrl: expected a URL such as http://127.0.0.1:4010, got "/gateway"',
  ],
])("mockHandlers rejects the options %j", async (options, message) => {
  await using mock = await createMockServer({ listen: false });
  expect(() => mockHandlers(mock, options as object)).toThrow(message);
});
