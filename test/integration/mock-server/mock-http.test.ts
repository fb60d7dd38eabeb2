import { once } from "node:events";
import { request as httpRequest } from "node:http";
import { connect, createServer, type Socket } from "node:net";
import { createMockServer, type MockServer } from "@workspace-tasks/mock-server";
import { describe, expect, it } from "vitest";
import { listen } from "../../support/listen.ts";
import { jsonPost } from "../../support/mock-client.ts";
import { sendRaw } from "../../support/raw-http.ts";

// The HTTP adapter over real sockets, with requests that `fetch` cannot send.

async function openSocket(mock: MockServer): Promise<Socket> {
  const socket = connect(Number(new URL(mock.baseUrl).port), "127.0.0.1");
  // The server closes some of these connections on purpose.
  socket.on("error", () => {});
  await once(socket, "connect");
  return socket;
}

/** The status and body of the response to these bytes. */
const exchange = (mock: MockServer, text: string) =>
  sendRaw(Number(new URL(mock.baseUrl).port), Buffer.from(text));

async function expectAlive(mock: MockServer): Promise<void> {
  const response = await fetch(`${mock.baseUrl}/graphql`, jsonPost({ query: "{ __typename }" }));
  expect(await response.json()).toEqual({ data: { __typename: "Query" } });
}

describe("the listener of a mock", () => {
  it("listens on 127.0.0.1 and a free port by default", async () => {
    await using one = await createMockServer();
    await using two = await createMockServer();
    expect(one.baseUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect(one.gatewayUrl).toBe(`${one.baseUrl}/gateway`);
    expect(two.baseUrl).not.toBe(one.baseUrl);
    await expectAlive(one);
    await expectAlive(two);
  });

  it("listens on ::1 when it is the host", async () => {
    await using mock = await createMockServer({ host: "::1" });
    expect(mock.baseUrl).toMatch(/^http:\/\/\[::1\]:\d+$/);
    await expectAlive(mock);
  });

  it("rejects with EADDRINUSE for a port in use, and leaves nothing open", async () => {
    const taken = await listen(createServer());
    const { port } = taken;
    await expect(createMockServer({ port })).rejects.toMatchObject({ code: "EADDRINUSE" });
    await taken[Symbol.asyncDispose]();
    await using mock = await createMockServer({ port });
    await expectAlive(mock);
  });
});

describe("closing a mock", () => {
  it("closes idle, half-sent and streaming connections, and can be repeated", async () => {
    const mock = await createMockServer({ clock: "virtual" });
    const idle = await openSocket(mock);
    const half = await openSocket(mock);
    half.write("POST /graphql HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{");
    const stream = await fetch(`${mock.baseUrl}/_mock/v1/stream`);
    expect(stream.status).toBe(200);
    const ends = [once(idle, "close"), once(half, "close")];
    await Promise.all([mock.close(), mock.close()]);
    await Promise.all(ends);
    await stream.text().catch(() => "cut");
    await expect(fetch(mock.baseUrl)).rejects.toThrow();
  });

  it("ends a request that waits for the virtual clock", async () => {
    const mock = await createMockServer({
      clock: "virtual",
      faults: { api: [{ instructions: [{ kind: "delay", delayMs: 60_000 }] }] },
    });
    const waiting = fetch(`${mock.baseUrl}/graphql`, jsonPost({ query: "{ __typename }" })).then(
      (response) => response.status,
      () => "cut",
    );
    const heard = new Promise<void>((resolve) =>
      mock.subscribe(({ type }) => type === "fault.fired" && resolve()),
    );
    await heard;
    await mock.close();
    expect(["cut", 200]).toContain(await waiting);
  });
});

describe("malformed HTTP requests to a mock", () => {
  it.each(["TRACE / HTTP/1.1", "GET //[ HTTP/1.1", "GET http://[/ HTTP/1.1", "OPTIONS * HTTP/1.1"])(
    "%s gets a response without a stack trace",
    async (line) => {
      await using mock = await createMockServer();
      const { status, body } = await exchange(mock, `${line}\r\nhost: localhost\r\n\r\n`);
      expect(String(status)).toMatch(/^[24]\d\d$/);
      expect(body).not.toMatch(/\n\s+at /);
      await expectAlive(mock);
    },
  );

  it("a client that disconnects within its body does not affect other requests", async () => {
    await using mock = await createMockServer();
    for (const path of ["/graphql", "/api/uploads", "/_mock/v1/api-keys"]) {
      const socket = await openSocket(mock);
      socket.write(`POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1000\r\n\r\n{"query":`);
      socket.resetAndDestroy();
      await once(socket, "close");
    }
    await expectAlive(mock);
  });

  it("a body above the limit gets a 413, and the connection stays open", async () => {
    await using mock = await createMockServer();
    const url = new URL(`${mock.baseUrl}/graphql`);
    const request = httpRequest(url, { method: "POST", headers: { "content-type": "application/json" } });
    const answered = once(request, "response");
    for (let sent = 0; sent < 8; sent++) {
      if (!request.write(Buffer.alloc(1_048_576, 0x20))) await once(request, "drain");
    }
    request.end();
    const [response] = await answered;
    expect(response.statusCode).toBe(413);
    expect(response.headers.connection).not.toBe("close");
    response.resume();
    await expectAlive(mock);
  });

  it("an endless body ends the connection", async () => {
    await using mock = await createMockServer();
    const socket = await openSocket(mock);
    // `once` would reject on the reset that is expected here.
    const closed = new Promise((resolve) => socket.on("close", resolve));
    socket.write("POST /graphql HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1000000000\r\n\r\n");
    const chunk = Buffer.alloc(1_048_576, 0x20);
    const pump = () => {
      while (!socket.destroyed && socket.write(chunk));
    };
    socket.on("drain", pump);
    pump();
    await closed;
    await expectAlive(mock);
  });
});
