import { createMockServer, type MockServer } from "@workspace-tasks/mock-server";
import { afterAll, beforeAll, expect, it } from "vitest";

let mock: MockServer;
beforeAll(async () => {
  mock = await createMockServer();
  await mock.worlds.create({ name: "one" });
});
afterAll(() => mock.close());

const paths = [
  "/",
  "/_mock",
  "/_mock/",
  "/_mock/v1/health",
  "/_mock/v1/openapi.json",
  "/_mock/v1/tasks?limit=x",
];
const all = [
  ...paths,
  ...paths.map((path) => `/w/one${path}`),
  "/graphql",
  "/gateway/graphql",
  "/unknown",
  "/w/two/",
];

it.each(all)("HEAD %s responds as GET does, without a body", async (path) => {
  const over = {
    socket: (method: string) => fetch(`${mock.baseUrl}${path}`, { method, redirect: "manual" }),
  };
  const direct = (method: string) => mock.fetch(`${mock.baseUrl}${path}`, { method });
  for (const send of [over.socket, direct]) {
    const [get, head] = [await send("GET"), await send("HEAD")];
    expect(head.status).toBe(get.status);
    for (const name of ["content-type", "location", "allow", "cache-control"])
      expect(head.headers.get(name), name).toBe(get.headers.get(name));
    expect(await head.text()).toBe("");
  }
});

it.each([
  ["/", "/_mock/"],
  ["/w/one", "/w/one/_mock/"],
  ["/w/one/", "/w/one/_mock/"],
])("GET %s leads to the inspector of its world", async (path, location) => {
  const { status, headers } = await fetch(`${mock.baseUrl}${path}`, { redirect: "manual" });
  expect([status, headers.get("location")]).toEqual([302, location]);
});

it("HEAD of the event stream ends at once", async () => {
  const head = await fetch(`${mock.baseUrl}/_mock/v1/stream`, { method: "HEAD" });
  expect(head.headers.get("content-type")).toMatch("text/event-stream");
  expect([head.status, await head.text()]).toEqual([200, ""]);
});
