import { HttpResponse, http, type RequestHandler } from "msw";
import type { MockServer } from "./server.ts";

export type MockHandlersOptions = {
  /** Address by which the client knows the base router. Default: the mock's own. */
  readonly baseUrl?: string;
  /** Address by which the client knows the gateway. Default: the mock's own. */
  readonly gatewayUrl?: string;
};

/**
 * Request handlers for MSW's `setupServer`: whatever the client sends to these addresses is answered by the
 * mock in this process, without a port. Deliveries still leave over sockets unless the mock was given
 * `receivers`.
 *
 * A fault that cuts the connection becomes a network error. MSW 2 does not see requests of the `undici`
 * package; a client built on it needs the mock's port.
 */
export function mockHandlers(mock: MockServer, options: MockHandlersOptions = {}): RequestHandler[] {
  const { baseUrl = mock.baseUrl, gatewayUrl = mock.gatewayUrl } = options;
  // The gateway comes first: it may lie below the base address.
  return [handlerOf(mock, gatewayUrl, "/gateway"), handlerOf(mock, baseUrl, "")];
}

function handlerOf(mock: MockServer, address: string, pathInMock: string): RequestHandler {
  const { origin, pathname } = new URL(address);
  const prefix = pathname.replace(/\/$/, "");
  return http.all(`${origin}${prefix}/*`, async ({ request }) => {
    const url = new URL(request.url);
    url.pathname = `${pathInMock}${url.pathname.slice(prefix.length)}`;
    try {
      return withPrefix(await mock.fetch(new Request(url, request)), origin, prefix);
    } catch {
      // The mock rejects only where a fault cuts the connection.
      return HttpResponse.error();
    }
  });
}

/** The address of a new upload, as the client has to call it. */
function withPrefix(response: Response, origin: string, prefix: string): Response {
  const location = response.headers.get("location");
  if (!location || prefix === "") return response;
  const headers = new Headers(response.headers);
  headers.set("location", location.replace(origin, `${origin}${prefix}`));
  return new Response(response.body, { status: response.status, headers });
}
