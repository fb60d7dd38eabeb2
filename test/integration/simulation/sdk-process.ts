import type { MockServer } from "@workspace-tasks/mock-server";
import type { WorkspaceTasksClient } from "@workspace-tasks/sdk";
import type { Random } from "./random.ts";
import { mustAvoid429 } from "./settings.ts";
import type { SimulationWorld } from "./world.ts";

/** One process that uses the SDK. */
export interface SdkProcess {
  readonly name: string;
  readonly client: WorkspaceTasksClient;
  /** How far its wall clock is ahead of the true time. */
  aheadMs: number;
  /** Runs one call of the client, and checks its error and that it ends within `limitMs`. */
  call<Result>(what: string, limitMs: number, run: () => Promise<Result>): Promise<CallResult<Result>>;
  /** Checks that no call in progress is past its limit. */
  checkPending(): void;
}

export type CallResult<Result> =
  | { readonly ok: true; readonly value: Result }
  | { readonly ok: false; readonly code: string; readonly outcome: string };

export interface SdkOptions {
  readonly mock: MockServer;
  readonly apiKey: () => string;
}

interface SentRequest {
  readonly keyId: string;
  readonly atMs: number;
}

const queueWaitMsMax = 300_000;
/** More than all the time limits of one call together. */
export const callMsMax = queueWaitMsMax + 900_000;
const windowMs = 60_000;

export function startSdk(world: SimulationWorld, { mock, apiKey }: SdkOptions, name: string): SdkProcess {
  const { settings, clock, check, trace } = world;
  const random = world.random.stream(`sdk/${name}`);
  const sentRequests: SentRequest[] = [];
  const pending = new Map<number, { readonly what: string; readonly dueMs: number }>();
  let calls = 0;
  let hasToken = false;

  const client: WorkspaceTasksClient = world.products.sdk.createClient({
    apiKey,
    baseUrl: mock.baseUrl,
    fetch: send,
    // A copy, because clients with the same clock object share one rate limiter.
    clock: { ...clock, now: () => clock.now() + sdkProcess.aheadMs },
    random: random.stream("random").number,
    timeoutMs: 15_000,
    rateLimit: { requests: settings.requestsPerWindow, maxQueued: 50 },
  });

  async function send(input: URL | string, init: RequestInit = {}): Promise<Response> {
    const authorization = new Headers(init.headers).get("authorization");
    const isExchange = authorization === null;
    if (isExchange && !hasToken) {
      const used = client.rateLimit()?.used ?? 0;
      check("L2", used === 0, () => `${name} holds ${used} slots and has no token yet`);
    }
    await latency(world, random);
    const sent: SentRequest = { keyId: keyIdOf(authorization), atMs: clock.monotonic() };
    // Without the signal: a request that was sent arrives, also when the client no longer waits for it.
    const { signal, ...request } = init;
    const response = mock.fetch(input, request).then(async (received) => {
      await latency(world, random);
      if (isExchange && received.ok) hasToken = true;
      if (!isExchange) checkRateLimit(sent, received.status);
      return received;
    });
    return untilAborted(response, signal ?? undefined);
  }

  function checkRateLimit(sent: SentRequest, status: number): void {
    const avoids429 = mustAvoid429(settings);
    check("L1", status !== 429 || !avoids429, () => `${name} got a 429 and is the only user of its key`);
    if (status === 429) trace.log(`${name} gets a 429`);
    else if (avoids429) sentRequests.push(sent);
    const inWindow = sentRequests.filter(
      ({ keyId, atMs }) => keyId === sent.keyId && atMs > sent.atMs - windowMs && atMs <= sent.atMs,
    ).length;
    check("L1", inWindow <= settings.requestsPerWindow, () => {
      return `${name} sent ${inWindow} requests in ${windowMs} ms`;
    });
  }

  function describeError(what: string, error: unknown): { code: string; outcome: string } {
    const { name: type, code, outcome } = error as { name?: string; code?: unknown; outcome?: unknown };
    const complete = typeof code === "string" && /^(not_sent|rejected|unknown)$/.test(String(outcome));
    check("O2", complete, () => `${what} failed with ${type}: ${String(error)}`);
    return { code: String(code), outcome: String(outcome) };
  }

  const sdkProcess: SdkProcess = {
    name,
    client,
    aheadMs: 0,
    async call(what, limitMs, run) {
      const id = calls++;
      const startedMs = clock.monotonic();
      pending.set(id, { what, dueMs: startedMs + limitMs });
      const checkTime = () => {
        pending.delete(id);
        const tookMs = clock.monotonic() - startedMs;
        check("W1", tookMs <= limitMs, () => `${name}: ${what} took ${tookMs} ms of ${limitMs} ms`);
      };
      try {
        const value = await run();
        checkTime();
        trace.log(`${name}: ${what} succeeds`);
        return { ok: true, value };
      } catch (error) {
        checkTime();
        const described = describeError(what, error);
        trace.log(`${name}: ${what} fails with ${described.code}, outcome ${described.outcome}`);
        return { ok: false, ...described };
      }
    },
    checkPending() {
      for (const { what, dueMs } of pending.values()) {
        const lateMs = clock.monotonic() - dueMs;
        check("W1", lateMs <= 0, () => `${name}: ${what} is in progress ${lateMs} ms past its limit`);
      }
    },
  };
  return sdkProcess;
}

/** Latency in one direction, with a jitter that the limiter allows for. */
async function latency({ settings, clock }: SimulationWorld, random: Random): Promise<void> {
  const { latencyMs } = settings;
  const jitterMs = random.number() * (latencyMs / 3);
  if (latencyMs > 0) await new Promise<void>((resolve) => clock.schedule(latencyMs + jitterMs, resolve));
}

/** The key of a token, as the mock writes it into its tokens. */
function keyIdOf(authorization: string | null): string {
  const payload = authorization?.split(".")[1];
  if (payload === undefined) return "none";
  return String((JSON.parse(Buffer.from(payload, "base64url").toString()) as { keyId?: unknown }).keyId);
}

function untilAborted(response: Promise<Response>, signal: AbortSignal | undefined): Promise<Response> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal?.reason);
    signal?.addEventListener("abort", abort, { once: true });
    response.then(resolve, reject).finally(() => signal?.removeEventListener("abort", abort));
  });
}
