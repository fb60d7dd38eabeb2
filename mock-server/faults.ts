// Faults apply in the order of a request: first those of the token and the rate limit, then those that replace the
// operation's response, last those that break the response. So several faults on one call have one meaning.

import { utf8 } from "@workspace-tasks/kernel/bytes.ts";
import { type Caller, endToken, keyIdOf } from "./rules/identity.ts";
import type { ApiFault, FaultPlan } from "./state/fault.ts";
import type { Hold } from "./time/virtual-clock.ts";
import type { World } from "./world/world.ts";

export interface PlainResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** How a response is broken off. */
type Abort =
  /** The connection is cut; with `afterBytes`, after the head and this much of the body. */
  | { readonly kind: "cut"; readonly afterBytes: number | null }
  /** The head is sent, the body never is. */
  | { readonly kind: "stall" };

export type WireResponse = PlainResponse & { readonly abort?: Abort };

/** What faults can do besides changing the response. */
interface FaultEffects {
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

/**
 * What the faults of one call do to the world.
 * @param hold makes virtual time wait for the call, except while the call waits for time
 */
export function faultEffects(
  world: World,
  caller: () => Caller,
  hold: Pick<Hold, "pause" | "resume"> | null = null,
): FaultEffects {
  return {
    wait: (delayMs) => waitOnClock(world, delayMs, hold),
    expireToken: () => endToken(world, caller()),
    burnQuota(requests) {
      const keyId = keyIdOf(caller());
      if (keyId !== null) world.limiter.burn(keyId, world.clock.now(), requests ?? undefined);
    },
  };
}

/** Resolves after `delayMs` on the mock's clock, or when the world ends. */
function waitOnClock(
  world: World,
  delayMs: number,
  hold: Pick<Hold, "pause" | "resume"> | null,
): Promise<void> {
  const waited = new Promise<void>((resolve) => {
    const finish = () => {
      hold?.resume();
      world.signal.removeEventListener("abort", finish);
      resolve();
    };
    world.schedule(delayMs, finish);
    world.signal.addEventListener("abort", finish, { once: true });
  });
  hold?.pause();
  return waited;
}

/** A connection that a fault cuts, as `fetch` reports it: a TypeError with the system's error as its cause. */
export class ConnectionCutError extends TypeError {
  constructor() {
    const cause = Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });
    super("fetch failed", { cause });
  }
}

/** Statuses of responses without a body. */
const bodiless: readonly number[] = [204, 205, 304];

/** Makes the response that `fetch` returns in this process. @throws ConnectionCutError, as `fetch` rejects */
export function toFetchResponse({ status, headers, body, abort }: WireResponse): Response {
  const hasBody = !bodiless.includes(status);
  if (!abort) return new Response(hasBody ? body : null, { status, headers: { ...headers } });
  if (!hasBody || (abort.kind === "cut" && abort.afterBytes === null)) throw new ConnectionCutError();
  const bytes = utf8(body);
  return new Response(abortedBody(bytes, abort), {
    status,
    headers: { ...headers, "content-length": String(bytes.length) },
  });
}

function abortedBody(bytes: Uint8Array, abort: Abort): ReadableStream<Uint8Array> {
  const part = new Uint8Array(bytes.subarray(0, abort.kind === "cut" ? (abort.afterBytes ?? 0) : 0));
  // An error discards what is queued in a stream, so the part that is sent and the error are separate pulls.
  let sent = part.length === 0;
  return new ReadableStream({
    async pull(controller) {
      if (abort.kind === "stall") return new Promise<void>(() => {});
      if (sent) return controller.error(new ConnectionCutError());
      sent = true;
      controller.enqueue(part);
    },
  });
}

/**
 * Everything the interface permits a delivery to do, and nothing else: it may arrive more than once, late, out of
 * order, or need a retry. A handler that survives this profile is correct.
 * @see interface §6, "Delivery headers and verification", points 3 to 5
 */
export const contractProfile: FaultPlan = {
  deliveries: [
    {
      chances: [
        { probability: 0.2, fault: { kind: "duplicate", copies: 1 } },
        { probability: 0.05, fault: { kind: "duplicate", copies: 3 } },
        { probability: 0.2, fault: { kind: "reorder" } },
        { probability: 0.15, fault: { kind: "delay", delayMs: 1_000 } },
        { probability: 0.05, fault: { kind: "delay", delayMs: 120_000 } },
        { probability: 0.1, fault: { kind: "drop" } },
      ],
    },
  ],
};
