import { optional, strictOptions } from "@workspace-tasks/kernel/schema.ts";
import { HttpResponse, http, type RequestHandler } from "msw";
import { checkOptions, urlOption } from "../checks.ts";
import type { MockServer } from "../create-mock.ts";

export interface MockHandlersOptions {
  /** The client's URL of the base router. Default: the mock's own. */
  readonly baseUrl?: string | undefined;
  /** The client's URL of the gateway. Default: the mock's own. */
  readonly gatewayUrl?: string | undefined;
}

const handlersOptions = strictOptions<MockHandlersOptions>()({
  baseUrl: optional(urlOption),
  gatewayUrl: optional(urlOption),
});

/**
 * Request handlers for MSW's `setupServer`: the mock in this process responds to requests to these URLs, without a
 * port. Deliveries still use sockets unless the mock has `receivers`.
 *
 * A fault that cuts the connection becomes a network error. MSW 2 does not intercept requests of the `undici`
 * package; a client built on it needs the mock's port.
 *
 * @example examples/msw.test.ts#msw
 * ```ts
 * import { createMockServer } from "@workspace-tasks/mock-server";
 * import { mockHandlers } from "@workspace-tasks/mock-server/msw";
 * import { createClient } from "@workspace-tasks/sdk";
 * import { setupServer } from "msw/node";
 * import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
 *
 * const baseUrl = "https://api.tax.example";
 * const mock = await createMockServer({ listen: false }); // no port
 * const server = setupServer(...mockHandlers(mock, { baseUrl, gatewayUrl: `${baseUrl}/gateway` }));
 *
 * beforeAll(() => server.listen({ onUnhandledRequest: "error" }));
 * afterEach(() => mock.control.reset()); // back to the initial state, with the same keys
 * afterAll(async () => {
 *   server.close();
 *   await mock.close();
 * });
 *
 * it("rejects the creation of an endpoint with a read-only key", async () => {
 *   const { apiKey } = await mock.control.createApiKey({ access: "read_only" });
 *   await using client = createClient({ baseUrl, apiKey, rateLimit: false }); // a reset mock counts anew
 *   const creation = client.webhooks.endpoints.create({ url: "https://receiver.example/webhooks" });
 *   await expect(creation).rejects.toMatchObject({ code: "PERMISSION_DENIED" });
 * });
 * ```
 */
export function mockHandlers(mock: MockServer, options: MockHandlersOptions = {}): RequestHandler[] {
  checkOptions("mockHandlers", options, handlersOptions);
  const { baseUrl = mock.baseUrl, gatewayUrl = mock.gatewayUrl } = options;
  // The gateway first: its URL can be below the base URL.
  return [handlerOf(mock, gatewayUrl, "/gateway"), handlerOf(mock, baseUrl, "")];
}

function handlerOf(mock: MockServer, clientUrl: string, pathInMock: string): RequestHandler {
  const { origin, pathname } = new URL(clientUrl);
  const prefix = pathname.replace(/\/$/, "");
  return http.all(`${origin}${prefix}/*`, async ({ request }) => {
    const url = new URL(request.url);
    url.pathname = `${pathInMock}${url.pathname.slice(prefix.length)}`;
    try {
      return withPrefix(await mock.fetch(new Request(url, request)), prefix);
    } catch {
      // The mock rejects only when a fault cuts the connection.
      return HttpResponse.error();
    }
  });
}

/** The URL of a new upload, as the client must call it. */
function withPrefix(response: Response, prefix: string): Response {
  const location = response.headers.get("location");
  if (!location || prefix === "") return response;
  const headers = new Headers(response.headers);
  headers.set("location", `${prefix}${location}`);
  return new Response(response.body, { status: response.status, headers });
}
