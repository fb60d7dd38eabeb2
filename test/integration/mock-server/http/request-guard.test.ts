import { networkInterfaces } from "node:os";
import { createMockServer, type MockServer, type MockServerOptions } from "@workspace-tasks/mock-server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type HeaderLine, requestBytes, sendRaw } from "../../../support/raw-http.ts";

// With raw sockets: no HTTP client sends a foreign Host.

const paths = [
  "POST /graphql",
  "POST /gateway/graphql",
  "POST /api/uploads",
  "PATCH /api/uploads/1",
  "GET /_mock/v1/clock",
  "GET /_mock/v1/stream",
  "POST /_mock/v1/reset",
  "GET /_mock/assets/index.js",
  "POST /_mock/",
  "GET /unknown",
  "POST http://localhost/graphql",
] as const;

const json: HeaderLine = ["Content-Type", "application/json"];

function send(
  mock: MockServer,
  call: string,
  headers: readonly HeaderLine[],
  host = `127.0.0.1:${portOf(mock)}`,
) {
  const [method = "", path = ""] = call.split(" ");
  const body = method === "GET" ? "" : '{"query":"{ __typename }"}';
  return sendRaw(portOf(mock), requestBytes({ method, path, host, headers: [json, ...headers], body }));
}

const portOf = (mock: MockServer) => Number(new URL(mock.baseUrl).port);

let mock: MockServer;
beforeAll(async () => {
  mock = await createMockServer();
});
afterAll(() => mock.close());

describe("the socket of a mock rejects", () => {
  it.each(paths)("%s under a foreign Host", async (call) => {
    const { status, body, headers } = await send(mock, call, [], "evil.example");
    expect(status).toBe(403);
    expect(body).toContain("FOREIGN_HOST");
    expect(headers["content-type"]).toBe("application/json; charset=utf-8");
  });

  it.each([
    ["of another origin", ["Origin", "https://evil.example"]],
    ["of another port of this computer", ["Origin", "http://127.0.0.1:3000"]],
    ["under another loopback name", ["Origin", "http://localhost"]],
    ["with an opaque origin", ["Origin", "null"]],
    ["that the browser marks as cross-site", ["Sec-Fetch-Site", "cross-site"]],
    ["that the browser marks as same-site", ["Sec-Fetch-Site", "same-site"]],
    ["with a mark of another spelling", ["Sec-Fetch-Site", "Cross-Site"]],
  ] as const)("every path to a page %s", async (_, header) => {
    for (const call of paths) {
      const { status, body } = await send(mock, call, [header]);
      expect([status, body], call).toEqual([403, expect.stringContaining("FOREIGN_ORIGIN")]);
    }
  });

  it.each([
    "",
    "localhost.evil.example",
    "127.0.0.1.evil.example",
    "evil.example/.localhost",
    "a@localhost",
    "127.1",
    "2130706433",
    "[::ffff:127.0.0.1]",
    "localhost.",
    "10.0.0.1",
  ])("the Host %j", async (host) => {
    expect((await send(mock, "POST /graphql", [], host)).status).toBe(403);
  });

  it("a page of another origin with a GraphQL error that names the option", async () => {
    const { body } = await send(mock, "POST /graphql", [["Origin", "http://localhost:3000"]]);
    const { errors } = JSON.parse(body);
    expect(errors).toHaveLength(1);
    expect(errors[0].extensions).toEqual({ code: "FOREIGN_ORIGIN" });
    expect(errors[0].message).toContain("--allow-origin");
  });

  it("a link from another site to anything but the inspector page", async () => {
    const link: HeaderLine[] = [
      ["Sec-Fetch-Site", "cross-site"],
      ["Sec-Fetch-Mode", "navigate"],
      ["Sec-Fetch-Dest", "document"],
    ];
    expect((await send(mock, "GET /_mock/v1/snapshot", link)).status).toBe(403);
    expect((await send(mock, "GET /_mock/", link)).status).not.toBe(403);
    const framed = link.map(([name, value]): HeaderLine => [name, value === "document" ? "iframe" : value]);
    expect((await send(mock, "GET /_mock/", framed)).status).toBe(403);
  });
});

describe("the socket of a mock serves", () => {
  it.each(["localhost", "127.0.0.1", "127.9.9.9", "[::1]", "mock.localhost", "LOCALHOST"])(
    "a program and the mock's own page under the name %s",
    async (name) => {
      const host = `${name}:4010`;
      const own: HeaderLine[] = [
        ["Origin", `http://${host}`],
        ["Sec-Fetch-Site", "same-origin"],
      ];
      expect((await send(mock, "POST /graphql", [], host)).body).toBe('{"data":{"__typename":"Query"}}');
      expect((await send(mock, "GET /_mock/v1/clock", own, host)).status).toBe(200);
    },
  );

  it("a path that starts with two slashes as that path, not as another host", async () => {
    expect((await send(mock, "POST //evil.example/graphql", [])).status).toBe(404);
  });

  it("under an allowed host name, and under no other", async () => {
    await using other = await createMockServer({ hostsAllowed: ["Mock.internal", "fd00::2", "[FD00:0::3]"] });
    expect((await send(other, "POST /graphql", [], "mock.internal:4010")).status).toBe(200);
    expect((await send(other, "POST /graphql", [], "other.internal:4010")).status).toBe(403);
    expect((await send(other, "POST /graphql", [], "[fd00::2]:4010")).status).toBe(200);
    expect((await send(other, "POST /graphql", [], "[fd00::3]:4010")).status).toBe(200);
    expect((await send(other, "POST /graphql", [], "[fd00::4]:4010")).status).toBe(403);
  });

  it("under the address of the connection when it listens on the network", async () => {
    const address = Object.values(networkInterfaces())
      .flat()
      .find((each) => each?.family === "IPv4" && !each.internal)?.address;
    await using other = await createMockServer({ host: address ?? "127.0.0.1" });
    const response = await fetch(`http://${new URL(other.baseUrl).host}/_mock/v1/clock`);
    expect(response.status).toBe(200);
  });
});

describe("a page of an allowed origin", () => {
  const origin = "http://localhost:3000";
  const options: MockServerOptions = { originsAllowed: [origin] };

  it("may read responses of every path", async () => {
    await using other = await createMockServer(options);
    const page: HeaderLine[] = [
      ["Origin", origin],
      ["Sec-Fetch-Site", "same-site"],
    ];
    for (const call of ["POST /graphql", "POST /api/uploads", "GET /_mock/v1/clock"]) {
      const { status, headers } = await send(other, call, page);
      expect(status, call).not.toBe(403);
      expect(headers, call).toMatchObject({ "access-control-allow-origin": origin, vary: "origin" });
    }
  });

  it("gets the permission that its browser asks for, pages of other origins do not", async () => {
    await using other = await createMockServer(options);
    const preflight = (from: string) =>
      send(other, "OPTIONS /graphql", [
        ["Origin", from],
        ["Access-Control-Request-Method", "POST"],
        ["Access-Control-Request-Headers", "authorization,content-type"],
      ]);
    const { status, headers } = await preflight(origin);
    expect(status).toBe(204);
    expect(headers["access-control-allow-headers"]).toBe("authorization,content-type");
    const foreign = await preflight("http://localhost:3001");
    expect(foreign.status).toBe(403);
    expect(foreign.headers).not.toHaveProperty("access-control-allow-origin");
  });
});

describe("createMockServer", () => {
  it.each([
    [{ hostsAllowed: ["http://mock:4010"] }, "http://mock:4010"],
    [{ hostsAllowed: ["mock", "mock:4010"] }, "mock:4010"],
    [{ originsAllowed: ["localhost:3000"] }, "localhost:3000"],
    [{ originsAllowed: ["http://localhost:3000/"] }, "http://localhost:3000/"],
  ])("rejects %j, of which no request would match one, and shows that", async (options, wrong) => {
    const [name] = Object.keys(options);
    await expect(createMockServer(options)).rejects.toThrow(
      new RegExp(`${name}\\.\\d: expected an? (host name|origin) .*, got "${wrong}"$`),
    );
  });
});
