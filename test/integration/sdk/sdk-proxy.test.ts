import { createServer, request } from "node:http";
import { Readable } from "node:stream";
import { text as streamText } from "node:stream/consumers";
import { createMockServer } from "@workspace-tasks/mock-server";
import { createClient, type Fetch } from "@workspace-tasks/sdk";
import { describe, expect, it } from "vitest";
import { listen } from "../../support/listen.ts";

/** A forward proxy on loopback that records the URLs it is asked for. */
async function createProxy() {
  const urls: string[] = [];
  const server = createServer((incoming, outgoing) => {
    urls.push(incoming.url ?? "");
    const forwarded = request(new URL(incoming.url ?? ""), {
      method: incoming.method,
      headers: incoming.headers,
    });
    forwarded.on("response", (response) => {
      outgoing.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(outgoing);
    });
    incoming.pipe(forwarded);
  });
  const listening = await listen(server);
  return { urls, port: listening.port, [Symbol.asyncDispose]: listening[Symbol.asyncDispose] };
}

/** As an HTTP client of Node with a proxy: it responds with headers and a stream of Node. */
function fetchThrough(port: number): Fetch {
  return (input, { method, headers, body, signal }) =>
    new Promise((resolve, reject) => {
      const sent = request({
        host: "127.0.0.1",
        port,
        path: String(input),
        method,
        headers: { ...headers, host: new URL(String(input)).host },
        signal,
      });
      sent.on("error", reject);
      sent.on("response", (response) => {
        const { statusCode: status = 0 } = response;
        const fields = new Headers(
          Object.entries(response.headers).map(([name, value]) => [name, String(value)]),
        );
        resolve({ status, headers: fields, body: response, text: () => streamText(response) });
      });
      if (body) Readable.from([body]).pipe(sent);
      else sent.end();
    });
}

describe("a client behind a proxy", () => {
  it("sends calls, token exchanges and uploads through the fetch that it was given", async () => {
    await using mock = await createMockServer();
    await using proxy = await createProxy();
    const { apiKey, baseUrl } = mock;
    const client = createClient({ apiKey, baseUrl, fetch: fetchThrough(proxy.port) });
    expect((await client.me()).__typename).toBe("WorkspaceUser");
    const file = new TextEncoder().encode("a tax document");
    const upload = { fileName: "w2.pdf", mimeType: "application/pdf", chunkBytes: 5 };
    expect((await client.uploads.upload(file, upload)).sizeBytes).toBe(file.byteLength);
    expect(proxy.urls.filter((url) => url === `${baseUrl}/graphql`)).toHaveLength(2);
    expect(proxy.urls.filter((url) => url.startsWith(`${baseUrl}/api/uploads`))).toHaveLength(4);
    await client.close();
  });
});
