import type { MockServer } from "workspace-tasks/mock-server";
import type { WorkspaceTasksClient } from "workspace-tasks/sdk";
import type { Chance } from "./chance.ts";
import type { Scene } from "./scene.ts";
import { isAllowanceItsOwn } from "./settings.ts";

/** One process that uses the SDK, and what it sent. */
export type SdkProcess = {
  readonly name: string;
  readonly client: WorkspaceTasksClient;
  /** Runs one call of the client and judges how it ends. */
  call<Result>(what: string, options: CallLimits, run: () => Promise<Result>): Promise<CallEnd<Result>>;
  /** Judged after each step. */
  check(): void;
};

export type CallLimits = { readonly withinMs: number };
export type CallEnd<Result> =
  | { readonly ok: true; readonly value: Result }
  | { readonly ok: false; readonly code: string; readonly outcome: string };

export type SdkSite = {
  readonly mock: MockServer;
  readonly apiKey: () => string;
};

export const sdkTimeoutMs = 15_000;
export const queueWaitMsMax = 300_000;
const windowMs = 60_000;

type Sent = { readonly keyId: string; readonly atMs: number };

export function startSdk(scene: Scene, { mock, apiKey }: SdkSite, name: string): SdkProcess {
  const { settings, clock, judge, trace } = scene;
  const chance = scene.chance.stream(`sdk/${name}`);
  const counted: Sent[] = [];
  const pending = new Map<number, { readonly what: string; readonly dueMs: number }>();
  let calls = 0;
  let hasToken = false;

  const client: WorkspaceTasksClient = scene.products.sdk.createClient({
    apiKey,
    baseUrl: mock.baseUrl,
    fetch: travel,
    // A clock of its own: one process knows nothing of another's allowance.
    clock: { ...clock },
    random: chance.stream("random").number,
    timeoutMs: sdkTimeoutMs,
    rateLimit: { requests: settings.requestsPerWindow, maxQueued: 50, maxWaitMs: queueWaitMsMax },
  });

  async function travel(input: URL | string, init: RequestInit = {}): Promise<Response> {
    const authorization = new Headers(init.headers).get("authorization");
    const isExchange = authorization === null;
    if (isExchange && !hasToken) {
      const used = client.rateLimit()?.used ?? 0;
      judge.expect(used === 0, "L2", () => `${name} holds ${used} slots and has no token yet`);
    }
    await latency(scene, chance);
    // What has left arrives, whether or not its sender still waits.
    const sent: Sent = { keyId: keyIdOf(authorization), atMs: clock.monotonic() };
    const { signal, ...request } = init;
    const answer = mock.fetch(input, request).then(async (response) => {
      await latency(scene, chance);
      if (isExchange && response.ok) hasToken = true;
      if (!isExchange) noteAnswer(sent, response.status);
      return response;
    });
    return untilAborted(answer, signal ?? undefined);
  }

  function noteAnswer(sent: Sent, status: number): void {
    const own = isAllowanceItsOwn(settings);
    judge.expect(status !== 429 || !own, "L1", () => `${name} was refused although nobody else uses its key`);
    if (status === 429) trace.note(`${name} is refused: 429`);
    else if (own) counted.push(sent);
    const { requestsPerWindow } = settings;
    const window = counted.filter(({ atMs }) => atMs > sent.atMs - windowMs && atMs <= sent.atMs);
    const same = window.filter((other) => other.keyId === sent.keyId).length;
    judge.expect(same <= requestsPerWindow, "L1", () => `${name} sent ${same} requests in ${windowMs} ms`);
  }

  function judgeEnd(what: string, error: unknown): { code: string; outcome: string } {
    const { name: kind, code, outcome } = error as { name?: string; code?: unknown; outcome?: unknown };
    const typed = typeof code === "string" && /^(not_sent|rejected|unknown)$/.test(String(outcome));
    judge.expect(typed, "O2", () => `${what} failed with ${kind}: ${String(error)}`);
    return { code: String(code), outcome: String(outcome) };
  }

  return {
    name,
    client,
    async call(what, { withinMs }, run) {
      const id = calls++;
      const startedMs = clock.monotonic();
      pending.set(id, { what, dueMs: startedMs + withinMs });
      const judgeTime = () => {
        pending.delete(id);
        const tookMs = clock.monotonic() - startedMs;
        judge.expect(tookMs <= withinMs, "W1", () => `${name}: ${what} took ${tookMs} ms of ${withinMs} ms`);
      };
      try {
        const value = await run();
        judgeTime();
        trace.note(`${name}: ${what} done`);
        return { ok: true, value };
      } catch (error) {
        judgeTime();
        const end = judgeEnd(what, error);
        trace.note(`${name}: ${what} failed: ${end.code}, ${end.outcome}`);
        return { ok: false, ...end };
      }
    },
    check() {
      for (const { what, dueMs } of pending.values()) {
        const lateMs = clock.monotonic() - dueMs;
        judge.expect(lateMs <= 0, "W1", () => `${name}: ${what} is ${lateMs} ms past its limit and not over`);
      }
    },
  };
}

/** Half the time to the service and back, with a jitter that the limiter's credit allows for. */
async function latency({ settings, clock }: Scene, chance: Chance): Promise<void> {
  const { latencyMs } = settings;
  const jitterMs = chance.number() * (latencyMs / 3);
  if (latencyMs > 0) await new Promise<void>((resolve) => clock.schedule(latencyMs + jitterMs, resolve));
}

/** The key behind a token, as the mock writes it into its tokens. */
function keyIdOf(authorization: string | null): string {
  const payload = authorization?.split(".")[1];
  if (payload === undefined) return "none";
  return String((JSON.parse(Buffer.from(payload, "base64url").toString()) as { keyId?: unknown }).keyId);
}

function untilAborted(answer: Promise<Response>, signal: AbortSignal | undefined): Promise<Response> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal?.reason);
    signal?.addEventListener("abort", abort, { once: true });
    answer.then(resolve, reject).finally(() => signal?.removeEventListener("abort", abort));
  });
}
