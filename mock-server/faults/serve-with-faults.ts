// Faults apply in the order of a request: first those of the token and the rate limit, then those that replace the
// operation's response, last those that break the response. So several faults on one call have one meaning.

import { utf8 } from "@workspace-tasks/kernel/bytes.ts";
import type { ApiFault } from "../state/fault.ts";

export interface PlainResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** How a response is broken off. */
export type Abort =
  /** The connection is cut; with `afterBytes`, after the head and this much of the body. */
  | { readonly kind: "cut"; readonly afterBytes: number | null }
  /** The head is sent, the body never is. */
  | { readonly kind: "stall" };

export type WireResponse = PlainResponse & { readonly abort?: Abort };

/** What faults can do besides changing the response. */
export interface FaultEffects {
  /** Resolves after `delayMs` on the mock's clock. */
  wait(delayMs: number): Promise<void>;
  expireToken(): void;
  /** Uses up requests of the caller's rate limit; `null`: all that remain. */
  burnQuota(requests: number | null): void;
}

/** Runs the operation with these faults. */
export async function serveWithFaults(
  faults: readonly ApiFault[],
  effects: FaultEffects,
  run: () => Promise<PlainResponse>,
): Promise<WireResponse> {
  for (const fault of faults) {
    if (fault.kind === "expire-token") effects.expireToken();
    if (fault.kind === "burn-quota") effects.burnQuota(fault.requests ?? null);
  }
  const response: WireResponse = replacement(faults) ?? (await run());
  for (const fault of faults) if (fault.kind === "delay") await effects.wait(fault.delayMs);
  const abort = response.abort ?? abortOf(faults, response);
  return abort ? { ...response, abort } : response;
}

function replacement(faults: readonly ApiFault[]): WireResponse | undefined {
  for (const fault of faults) {
    if (fault.kind === "reset-before-effect") {
      return { status: 0, headers: {}, body: "", abort: { kind: "cut", afterBytes: null } };
    }
    if (fault.kind === "status") return statusResponse(fault.status, fault.retryAfterSeconds);
    if (fault.kind === "rate-limited") return rateLimitedResponse(fault.retryAfterSeconds ?? 1);
    if (fault.kind === "html") return htmlResponse(fault.status ?? 502);
    if (fault.kind === "graphql-error") return graphqlErrorResponse(fault.message, fault.code);
  }
  return undefined;
}

function abortOf(faults: readonly ApiFault[], response: PlainResponse): Abort | undefined {
  for (const fault of faults) {
    if (fault.kind === "reset-after-effect") return { kind: "cut", afterBytes: null };
    if (fault.kind === "truncate") {
      const bytes = utf8(response.body).length;
      const sent = fault.bytes ?? Math.floor(bytes / 2);
      return { kind: "cut", afterBytes: Math.max(0, Math.min(sent, bytes - 1)) };
    }
    if (fault.kind === "stall") return { kind: "stall" };
  }
  return undefined;
}

const statusResponse = (status: number, retryAfterSeconds: number | undefined): PlainResponse =>
  responseOf(status, "text/plain", `status ${status}\n`, retryAfterSeconds);

const rateLimitedResponse = (retryAfterSeconds: number): PlainResponse => {
  const error = { message: "Too many requests", extensions: { code: "RATE_LIMITED" } };
  return responseOf(429, "application/json", JSON.stringify({ errors: [error] }), retryAfterSeconds);
};

const htmlResponse = (status: number): PlainResponse =>
  responseOf(
    status,
    "text/html",
    `<!doctype html>\n<html><head><title>${status}</title></head><body><h1>${status}</h1></body></html>\n`,
  );

const graphqlErrorResponse = (message: string, code: string | undefined): PlainResponse => {
  const error = { message, ...(code === undefined ? {} : { extensions: { code } }) };
  return responseOf(200, "application/json", JSON.stringify({ data: null, errors: [error] }));
};

const responseOf = (
  status: number,
  type: string,
  body: string,
  retryAfterSeconds?: number,
): PlainResponse => ({
  status,
  headers: {
    "content-type": `${type}; charset=utf-8`,
    ...(retryAfterSeconds === undefined ? {} : { "retry-after": String(retryAfterSeconds) }),
  },
  body,
});
