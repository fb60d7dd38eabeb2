import { describe, expect, it } from "vitest";
import { createPortClient, servePort } from "../../../../docs/playground/port.ts";

function connect(fetch: (url: string, init: RequestInit) => Promise<Response>) {
  const { port1, port2 } = new MessageChannel();
  servePort(port2, fetch);
  return createPortClient(port1);
}

/** A stream without an end, from which no part comes. */
function quietBody() {
  const state = { isCancelled: false };
  const cancel = () => {
    state.isCancelled = true;
  };
  return { state, body: new ReadableStream<Uint8Array>({ cancel }) };
}

const hang = () => new Promise<never>(() => {});

describe("HTTP over a port", () => {
  it("carries a request, and the response with its body", async () => {
    const client = connect(async (url, { method, headers, body }) =>
      Response.json([url, method, new Headers(headers).get("x-of-request"), body], { status: 201 }),
    );
    const init = { method: "POST", headers: { "x-of-request": "a" }, body: "text" };
    const response = await client.fetch("http://mock.localhost/a", init);
    expect([response.status, response.headers.get("content-type")]).toEqual([201, "application/json"]);
    expect(await response.json()).toEqual(["http://mock.localhost/a", "POST", "a", "text"]);
    client.close();
  });

  it("ends a body that its reader cancels while no part of it comes", async () => {
    const { state, body } = quietBody();
    const client = connect(async () => new Response(body));
    const response = await client.fetch("http://mock.localhost/a", {});
    await response.body?.cancel();
    await expect.poll(() => state.isCancelled).toBe(true);
    client.close();
  });

  it("ends the body of a response that comes after its request was aborted", async () => {
    const { state, body } = quietBody();
    const aborting = new AbortController();
    const client = connect(async (_url, { signal }) => {
      aborting.abort();
      await expect.poll(() => signal?.aborted).toBe(true);
      return new Response(body);
    });
    const response = await client.fetch("http://mock.localhost/a", aborting);
    await expect(response.text()).rejects.toThrow("aborted");
    expect(state.isCancelled).toBe(true);
    client.close();
  });

  it("fails as the mock fails, and when that is replaced", async () => {
    const failing = connect(() => Promise.reject(new Error("the connection was cut")));
    await expect(failing.fetch("http://mock.localhost/a", {})).rejects.toThrow("the connection was cut");
    failing.close();
    const client = connect(hang);
    const response = client.fetch("http://mock.localhost/a", {});
    client.close();
    await expect(response).rejects.toThrow("the mock was replaced by another one");
  });
});
