import type { Around } from "./compared-service.ts";

// biome-ignore lint/suspicious/noExplicitAny: a change reaches into responses of every shape
export type Loose = any;

/** A request and its response, which a change may edit. */
export interface Exchange {
  readonly query: string;
  readonly variables: Loose;
  /** `variables.input`, or nothing. */
  readonly input: Loose;
  readonly isGateway: boolean;
  readonly method: string;
  readonly path: string;
  readonly contentType: string;
  readonly authorization: string;
  readonly text: string;
  status: number;
  readonly headers: Record<string, string>;
  /** `data` and `errors`. */
  json: Loose;
}

export type Change = (exchange: Exchange) => void;

/** A service that is wrong in one detail: a proxy in front of a mock that changes its responses. */
export const changing =
  (change: Change): Around =>
  (send) =>
  async (url, init) => {
    const response = await send(url, init);
    const headers = new Headers(init.headers);
    const text = typeof init.body === "string" ? init.body : "";
    const { query = "", variables = {} } = parse(text) ?? {};
    const received = await response.text();
    const exchange: Exchange = {
      query,
      variables,
      input: variables.input ?? {},
      isGateway: url.includes("/gateway/"),
      method: init.method ?? "GET",
      path: new URL(url).pathname,
      contentType: headers.get("content-type") ?? "",
      authorization: headers.get("authorization") ?? "",
      text,
      status: response.status,
      headers: Object.fromEntries(response.headers),
      json: parse(received) ?? {},
    };
    change(exchange);
    const { status, json } = exchange;
    const body = received === "" || status === 204 ? null : JSON.stringify(json);
    return new Response(body, { status, headers: exchange.headers });
  };

function parse(text: string): Loose {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Visits every object of a value. */
export function eachObject(value: Loose, visit: (object: Loose) => void): void {
  if (typeof value !== "object" || value === null) return;
  if (!Array.isArray(value)) visit(value);
  for (const inner of Object.values(value)) eachObject(inner, visit);
}

/** A token with other claims, and a signature that does not fit them. */
export function withClaims(token: string, edit: (claims: Loose) => Loose): string {
  const [head, payload = "", signature] = token.split(".");
  const claims = edit(parse(Buffer.from(payload, "base64url").toString("utf8")));
  return [head, Buffer.from(JSON.stringify(claims)).toString("base64url"), signature].join(".");
}
