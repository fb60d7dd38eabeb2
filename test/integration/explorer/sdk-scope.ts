// Calls of SDK clients that share one key, against a small model of the service, in every order. The choices are:
//
//   a call starts                              the next of each client
//   a request arrives                          the service responds according to its state, and the response arrives at once
//   nothing is in flight: time moves           to the next timer; with `delays` also while requests are in flight
//   faults, each with a budget                 a request is lost, its response is lost, a 503, all tokens become invalid
//
// States are not merged by what the clients remember, which is in closures, but by what they have seen: the order and
// the times of all responses.

import type * as Sdk from "workspace-tasks/sdk";
import type { Choice, Execution, Scope } from "./explore.ts";
import { createExploredProcess, createTime } from "./explored-process.ts";

export interface SdkBudgets {
  readonly lostRequests: number;
  readonly lostResponses: number;
  readonly unavailable: number;
  readonly invalidTokens: number;
  /** How often time passes although requests are in flight. */
  readonly delays: number;
}

export interface SdkScopeOptions {
  readonly name: string;
  readonly sdk: Pick<typeof Sdk, "createClient">;
  readonly clients: number;
  readonly calls: readonly ("query" | "mutation")[];
  /** Requests per minute that the service accepts, and the clients expect. */
  readonly limit: number;
  readonly budgets?: Partial<SdkBudgets> | undefined;
}

const windowMs = 60_000;
/** Of a request that is delayed once; less than its time limit. */
const latencyMs = 10_000;
const noBudgets: SdkBudgets = {
  lostRequests: 0,
  lostResponses: 0,
  unavailable: 0,
  invalidTokens: 0,
  delays: 0,
};

export function sdkScope(options: SdkScopeOptions): Scope {
  return {
    name: options.name,
    async start() {
      await loadParser(options);
      return startSdkExecution(options);
    },
  };
}

/** The first document that a client reads loads a module, which takes real time. */
async function loadParser({ sdk }: SdkScopeOptions): Promise<void> {
  const fetch = async () => Response.json({ data: {} });
  await using client = sdk.createClient({ apiKey: "key", baseUrl: "https://service.example", fetch });
  await client.request("query Q { q }", {}, { authenticated: false });
}

interface CallRecord {
  readonly name: string;
  readonly kind: "query" | "mutation";
  state: "waiting" | "started" | "done" | "not_sent" | "rejected" | "unknown";
  arrivals: number;
  effects: number;
}

function startSdkExecution(options: SdkScopeOptions): Execution {
  const { sdk, limit } = options;
  const time = createTime();
  const left = { ...noBudgets, ...options.budgets };
  const story: string[] = [];
  const seen: string[] = [];
  const see = (text: string) => void seen.push(`${time.nowMs} ${text}`);
  let violation: string | undefined;
  const check = (holds: boolean, message: string) => {
    if (!holds) violation ??= message;
  };
  const records = options.calls.map((kind, index): CallRecord => {
    return { name: `call${index + 1}`, kind, state: "waiting", arrivals: 0, effects: 0 };
  });
  const process = createExploredProcess({ name: "client", time, memory: () => "" });
  const accepted: number[] = [];
  let tokens = 0;
  let oldestValid = 1;
  let exchanging = 0;

  const respond = (status: number, body: unknown, headers = {}) =>
    new Response(JSON.stringify(body), {
      status,
      headers: { "content-type": "application/json", ...headers },
    });
  const serve = (request: ParsedRequest): Response => {
    if (request.isExchange) {
      tokens += 1;
      const workspaceToken = `token-${tokens}`;
      return respond(200, { data: { exchangeSurfaceRefreshTokenForAccessTokens: { workspaceToken } } });
    }
    const record = records.find(({ name }) => name === request.operation)!;
    record.arrivals += 1;
    if (request.token < oldestValid) {
      return respond(200, { errors: [{ message: "Unauthorized", extensions: { code: "UNAUTHENTICATED" } }] });
    }
    const used = accepted.filter((atMs) => atMs > time.nowMs - windowMs);
    check(used.length < limit, `L1: ${record.name} is the ${used.length + 1}. request within ${windowMs} ms`);
    accepted.push(time.nowMs);
    record.effects += 1;
    check(
      record.kind === "query" || record.effects === 1,
      `O1: the mutation ${record.name} took effect ${record.effects} times`,
    );
    return respond(200, { data: { [record.name]: true } });
  };

  const clients = Array.from({ length: options.clients }, () =>
    sdk.createClient({
      apiKey: "key",
      baseUrl: "https://service.example",
      clock: process.clock,
      random: () => 0.5,
      timeoutMs: 15_000,
      maxRetries: 2,
      rateLimit: { requests: limit },
      fetch: async (_, init) => {
        const request = parseRequest(init);
        const name = request.isExchange ? "the exchange" : `${request.operation} with token ${request.token}`;
        if (request.isExchange) {
          exchanging += 1;
          check(exchanging === 1, "X1: two exchanges of one key are in flight");
          const used = clients.reduce((most, client) => Math.max(most, client.rateLimit()?.used ?? 0), 0);
          check(tokens > 0 || used === 0, "L2: a slot is held and there is no token yet");
        }
        const settled = process.park(name, async () => {
          const { outcome } = waiting.shift() ?? { outcome: "arrives" as const };
          if (outcome === "unavailable") return respond(503, {});
          const response = serve(request);
          if (outcome === "lost response") throw lost();
          return response;
        });
        const aborted = new Promise<never>((_resolve, reject) => {
          init.signal.addEventListener("abort", () => reject(init.signal.reason));
        });
        try {
          return await Promise.race([settled, aborted]);
        } finally {
          if (request.isExchange) exchanging -= 1;
        }
      },
    }),
  );
  /** What becomes of the next request that arrives. */
  const waiting: { readonly outcome: "arrives" | "unavailable" | "lost response" }[] = [];

  const start = (record: CallRecord, index: number) => {
    record.state = "started";
    const document = `${record.kind} ${record.name} { ${record.name} }`;
    const client = clients[index % clients.length]!;
    client.request(document).then(
      () => {
        record.state = "done";
        check(record.effects > 0, `O1: ${record.name} succeeded and did not take effect`);
        see(`${record.name} succeeds`);
      },
      (error: { readonly code?: string; readonly outcome?: "not_sent" | "rejected" | "unknown" }) => {
        record.state = error.outcome ?? "unknown";
        see(`${record.name} fails with ${error.code}`);
        const { invalidTokens: _, ...failing } = left;
        const hasFailed = Object.entries(failing).some(
          ([name, count]) => count < ({ ...noBudgets, ...options.budgets } as Record<string, number>)[name]!,
        );
        // With few requests per minute, a call may not have its turn within its deadline.
        const isLate = error.code === "DEADLINE_EXCEEDED" || error.code === "RATE_LIMIT_WAIT_EXCEEDED";
        check(hasFailed || isLate, `W2: ${record.name} fails with ${error.code}, although no request failed`);
        check(error.outcome !== undefined, `O2: ${record.name} failed without an outcome: ${String(error)}`);
        const mayHave = record.state === "unknown" || record.effects === 0 || record.kind === "query";
        check(mayHave, `O1: ${record.name} took effect and is reported as ${record.state}`);
      },
    );
  };

  const found = () => {
    const choices = new Map<string, { readonly isFault: boolean; readonly run: () => void }>();
    const isOver = records.every(({ state }) => state !== "waiting" && state !== "started");
    if (violation || (isOver && process.parked.length === 0)) return choices;
    const next = records.findIndex(({ state }) => state === "waiting");
    if (next >= 0)
      choices.set(`${records[next]!.name} starts`, {
        isFault: false,
        run: () => start(records[next]!, next),
      });
    for (const call of process.parked) {
      const add = (label: string, budget: keyof SdkBudgets | undefined, run: () => void) =>
        choices.set(`${call.name} ${label}`, {
          isFault: budget !== undefined,
          run() {
            if (budget) left[budget] -= 1;
            see(`${call.name} ${label}`);
            run();
          },
        });
      const arrive = (outcome: "arrives" | "unavailable" | "lost response") => () => {
        waiting.push({ outcome });
        void call.run();
      };
      add("arrives", undefined, arrive("arrives"));
      if (left.lostRequests > 0) add("is lost", "lostRequests", () => call.fail(lost()));
      if (left.lostResponses > 0)
        add("arrives, its response is lost", "lostResponses", arrive("lost response"));
      if (left.unavailable > 0) add("gets a 503", "unavailable", arrive("unavailable"));
    }
    if (left.invalidTokens > 0 && tokens >= oldestValid) {
      choices.set("all tokens become invalid", {
        isFault: true,
        run() {
          left.invalidTokens -= 1;
          oldestValid = tokens + 1;
        },
      });
    }
    const isInFlight = process.parked.length > 0;
    if (records.some(({ state }) => state === "started") && (!isInFlight || left.delays > 0)) {
      choices.set("time passes", {
        isFault: isInFlight,
        run() {
          if (isInFlight) left.delays -= 1;
          time.advance(isInFlight ? latencyMs : undefined);
        },
      });
    }
    return choices;
  };

  return {
    story,
    choices: () => [...found()].map(([label, { isFault }]): Choice => ({ label, isFault })),
    async take(label) {
      story.push(`${(time.nowMs / 1_000).toFixed(3)} s: ${label}`);
      found().get(label)!.run();
      for (let turns = 0; turns < 4; turns++) await new Promise((resolve) => void setImmediate(resolve));
    },
    fingerprint: () =>
      JSON.stringify([process.fingerprint(), time.nowMs, seen, records, accepted, tokens, oldestValid, left]),
    violation: () => violation,
    async dispose() {
      const closing = clients.map((client) => client.close());
      time.forget(process);
      void Promise.allSettled(closing);
    },
  };
}

const lost = () =>
  new TypeError("fetch failed", {
    cause: Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" }),
  });

interface ParsedRequest {
  readonly isExchange: boolean;
  readonly operation: string;
  readonly token: number;
}

function parseRequest(init: RequestInit): ParsedRequest {
  const { query = "" } = JSON.parse(String(init.body)) as { query?: string };
  const authorization = new Headers(init.headers).get("authorization");
  return {
    isExchange: authorization === null,
    operation: /^\s*(?:query|mutation)\s+(\w+)/.exec(query)?.[1] ?? "",
    token: Number(authorization?.replace(/\D/g, "")),
  };
}
