// Faults that earlier versions had, or that a review from outside looked for, put back into the present code. Those that
// the simulation and the explorer find are listed with them; of the others, the named tests must fail.

import type { Patch } from "../simulation/patched-product.ts";

export interface FindingMutant {
  readonly name: string;
  readonly product: "sdk" | "mock-server" | "receiver-kit";
  /** What a user would see. */
  readonly finding: string;
  /** Files of which a test must fail. */
  readonly tests: readonly string[];
  readonly patches: readonly Patch[];
}

const sdkMutants: readonly Omit<FindingMutant, "product">[] = [
  {
    name: "retry-after-without-limit",
    finding: "a 5xx with a long Retry-After holds a query for a day",
    tests: ["test/unit/sdk/request/retry-policy.test.ts"],
    patches: [
      {
        find: 'if (retryAfterMs > retryAfterMsMax) return { type: "fail" };\n  const delayMs',
        replace: "const delayMs",
      },
    ],
  },
  {
    name: "key-function-without-limit",
    finding: "a function that never returns the key blocks the client",
    tests: ["test/unit/sdk/credentials/credentials.test.ts", "test/unit/sdk/engine/time-limits.test.ts"],
    patches: [
      {
        find: "await withTimeout(() => call(source), { timeoutMs, clock, createError }).catch(",
        replace: "await call(source).catch(",
      },
    ],
  },
  {
    name: "store-inherited",
    finding: "a client takes slots from the closed store of the client before it",
    tests: ["test/unit/sdk/rate-limit/limiter-registry.test.ts"],
    patches: [{ find: "if (!other) {\n    entry.shared", replace: "if (!entry.shared) {\n    entry.shared" }],
  },
  {
    name: "store-ignored",
    finding: "the store of a second client of the key is ignored without a word",
    tests: ["test/unit/sdk/rate-limit/limiter-registry.test.ts"],
    patches: [
      {
        find: "if (other && other.store !== request.rateLimit.store) throw new FailureError(differentStores);",
        replace: "void differentStores;",
      },
    ],
  },
  {
    name: "store-without-limit",
    finding: "a store that never returns blocks every call, and close",
    tests: [
      "test/unit/sdk/rate-limit/shared-slots.test.ts",
      "test/unit/sdk/rate-limit/limiter-registry.test.ts",
    ],
    patches: [
      {
        find: "return withTimeout(call, { timeoutMs: storeTimeoutMs, clock, createError, onLate });",
        replace: "void [clock, createError, onLate]; return call();",
      },
    ],
  },
  {
    name: "bad-token-kept",
    finding: "a bad token of a service that has recovered is kept for its life",
    tests: ["test/unit/sdk/credentials/shared-token.test.ts"],
    patches: [{ find: "const replacePauseMs = 5_000;", replace: "const replacePauseMs = 150_000;" }],
  },
  {
    name: "queue-of-all-clients",
    finding: "a call is rejected because another client's calls fill the queue",
    tests: ["test/unit/sdk/rate-limit/priority.test.ts", "test/unit/sdk/rate-limit/rate-limiter.test.ts"],
    patches: [
      { find: "this.#queue.countOf(place.owner) >= maxQueued", replace: "this.#queue.size >= maxQueued" },
    ],
  },
  {
    name: "nothing-reserved",
    finding: "background calls leave no request to a person",
    tests: ["test/unit/sdk/rate-limit/priority.test.ts"],
    patches: [
      {
        find: "return Math.max(1, capacity - Math.floor((capacity * reserved) / limit));",
        replace: "return capacity + 0 * reserved * limit;",
      },
    ],
  },
  {
    name: "long-block-of-the-key",
    finding: "one absurd Retry-After of a 429 blocks the key for hours",
    tests: ["test/unit/sdk/rate-limit/adaptive-pacing.test.ts"],
    patches: [
      {
        find: "const pauseMsMax = this.#windowMs * pauseWindowsMax;",
        replace: "const pauseMsMax = 1e9 * pauseWindowsMax;",
      },
    ],
  },
  {
    name: "proxy-taken-for-the-service",
    finding: "the HTML page of a proxy with status 401 is reported as a rejected token",
    tests: ["test/unit/sdk/request/classify-response.test.ts"],
    patches: [
      { find: "if (status === 401 && !isService && isPage(response)) {", replace: "if (status === 1) {" },
    ],
  },
  {
    name: "unauthorized-by-its-message",
    finding: "a mutation is sent again because a platform's error reads Unauthorized",
    tests: ["test/unit/sdk/request/classify-response.test.ts"],
    patches: [
      {
        find: "return code === undefined && /^unauthorized",
        replace: "return code !== null && /^unauthorized",
      },
    ],
  },
  {
    name: "me-null-in-a-mutation",
    finding: "a mutation with a field named me that is null is sent again",
    tests: ["test/unit/sdk/request/classify-response.test.ts"],
    patches: [
      {
        find: 'if (kind === "query" && response.data["me"] === null)',
        replace: 'if (response.data["me"] === null)',
      },
    ],
  },
  {
    name: "key-in-base64",
    finding: "a key in base64 appears in messages",
    tests: ["test/unit/sdk/call/redactor.test.ts"],
    patches: [
      {
        find: "encodeURIComponent(secret), ...base64Forms(secret)];",
        replace: "encodeURIComponent(secret)];",
      },
    ],
  },
  {
    name: "request-id-lost",
    finding: "the id of a request is in no error",
    tests: ["test/unit/sdk/engine/response-details.test.ts"],
    patches: [
      {
        find: "for (const name of requestIdHeaders) {",
        replace: "for (const name of requestIdHeaders.slice(0, 0)) {",
      },
    ],
  },
  {
    name: "cut-response-not-repeated",
    finding: "a query whose JSON response was cut fails and is not repeated",
    tests: ["test/unit/sdk/request", "test/unit/sdk/engine"],
    patches: [{ find: "if (isTruncated) {", replace: "if (isTruncated && status === 0) {" }],
  },
  {
    name: "fetch-without-streams",
    finding: "a fetch whose bodies are no web streams fails with a wrong diagnosis",
    tests: ["test/unit/sdk/request/response-body.test.ts"],
    patches: [
      {
        find: 'return typeof body === "object" && body !== null && "getReader" in body;',
        replace: 'return typeof body === "object" && body !== null;',
      },
    ],
  },
];

const mockMutants: readonly Omit<FindingMutant, "product">[] = [
  {
    name: "faults-by-order-of-arrival",
    finding: "equal seeds and equal calls draw other faults when responses arrive in another order",
    tests: ["test/unit/mock-server/world/fault-store.test.ts"],
    patches: [
      {
        find: "drawnFor ??= identity();",
        replace: "drawnFor ??= String((identity(), sequence));",
      },
    ],
  },
  {
    name: "clock-past-its-end",
    finding: "an absurd advance breaks the virtual clock for the life of the process",
    tests: ["test/unit/mock-server/time/virtual-clock.test.ts"],
    patches: [{ find: "checkEnd(offsetMs + elapsedMs + byMs);", replace: "void checkEnd;" }],
  },
  {
    name: "task-type-of-every-object",
    finding: "a task of the type constructor fails with an internal error",
    tests: ["test/unit/mock-server/rules/tasks/tasks.test.ts", "test/unit/mock-server/worlds.test.ts"],
    patches: [
      {
        find: "Object.hasOwn(settings.tasks.plans, taskType);",
        replace: "taskType in settings.tasks.plans;",
      },
    ],
  },
  {
    name: "iterator-of-another-time",
    finding: "a cursor that is no cursor reads as the end of the list",
    tests: ["test/unit/mock-server/control/controls/list-page.test.ts"],
    patches: [
      {
        find: "if (isWellFormed && cursor <= newest) return cursor;",
        replace: "if (isWellFormed || newest) return cursor;",
      },
    ],
  },
  {
    name: "older-check-wins",
    finding: "of two checks of a connection at once the older one decides",
    tests: ["test/unit/mock-server/rules/partner/connections.test.ts", "test/conformance/partner.test.ts"],
    patches: [
      {
        find: "const checking = before ? before.then(check, check) : check();",
        replace: "void before; const checking = check();",
      },
    ],
  },
  {
    name: "inputs-of-a-failed-check",
    finding: "credentials that a platform rejected are stored as settings",
    tests: ["test/unit/mock-server/rules/partner/connections.test.ts", "test/conformance/partner.test.ts"],
    patches: [{ find: "if (accepted && input.inputs != null)", replace: "if (input.inputs != null)" }],
  },
  {
    name: "switching-protocols",
    finding: "a receiver that responds with 101 holds its delivery until the time limit",
    tests: ["test/unit/mock-server/outbound/http-transport.test.ts"],
    patches: [{ find: 'request.once("upgrade", (', replace: 'request.once("upgraded", (' }],
  },
  {
    name: "token-of-the-future",
    finding: "a token is issued up to a second in the future and lives longer than asked for",
    tests: ["test/conformance/keys.test.ts"],
    patches: [
      { find: "iat: Math.floor(nowMs / 1_000),", replace: "iat: Math.ceil(nowMs / 1_000) + 1," },
      { find: "exp: Math.floor(endsAtMs / 1_000),", replace: "exp: Math.ceil(endsAtMs / 1_000) + 1," },
    ],
  },
];

const receiverMutants: readonly Omit<FindingMutant, "product">[] = [
  {
    name: "bytes-without-budget",
    finding: "memory grows without limit while the inbox does not store",
    tests: ["test/unit/receiver-kit/worker/ingest.test.ts"],
    patches: [
      {
        find: "const release = this.#storing.take(row.body.byteLength);",
        replace: "const release = () => void row.body;",
      },
    ],
  },
  {
    name: "rows-left-in-the-wal",
    finding: "a copy of the database file after a clean close has no rows",
    tests: [
      "test/unit/receiver-kit/inbox/sqlite/sqlite-inbox.test.ts",
      "test/unit/receiver-kit/inbox/sqlite/sqlite-file.test.ts",
    ],
    patches: [{ find: "if (this.#connection) checkpoint(this.#connection);", replace: "void checkpoint;" }],
  },
  {
    name: "deleted-file",
    finding: "deliveries are acknowledged into a file that was deleted",
    tests: [
      "test/unit/receiver-kit/inbox/sqlite/sqlite-file.test.ts",
      "test/unit/receiver-kit/inbox/sqlite/sqlite-inbox.test.ts",
    ],
    patches: [
      {
        find: "try {\n      this.#options.checkFile();\n    } catch",
        replace: "try {\n      void this.#options.checkFile;\n    } catch",
      },
    ],
  },
  {
    name: "key-of-the-delivery",
    finding: "an event that arrives in two deliveries has two idempotency keys",
    tests: [
      "test/unit/receiver-kit/worker/attempt.test.ts",
      "test/unit/receiver-kit/worker/worker.test.ts",
      "test/unit/receiver-kit/worker/handlers.test.ts",
    ],
    patches: [
      {
        find: "eventIdOf(event) ?? claim.id}",
        replace: "claim.id ?? eventIdOf(event)}",
      },
    ],
  },
  {
    name: "events-by-name",
    finding: "a task event that the catalog does not know reaches no handler of task.*",
    tests: ["test/unit/receiver-kit/worker/handlers.test.ts"],
    patches: [
      {
        find: '"task.*": isTaskEvent,',
        replace: '"task.*": (event) => isTaskEvent(event) && knownEventNames.includes(event.event as never),',
      },
    ],
  },
  {
    name: "age-of-a-replayed-row",
    finding: "a row that is replayed late loses its id within the hour",
    tests: ["test/unit/receiver-kit/inbox/memory/memory-inbox.test.ts"],
    patches: [
      {
        find: "replayedAtMs ?? receivedAtMs;\n\nconst dueAtMs",
        replace: "receivedAtMs + 0 * (replayedAtMs ?? 0);\n\nconst dueAtMs",
      },
    ],
  },
  {
    name: "dead-without-a-body",
    finding: "a state whose event died and lost its body is never corrected by reconciling",
    tests: ["test/unit/receiver-kit/worker/reconcile.test.ts"],
    patches: [
      {
        find: 'isBlocked = found?.state === "dead" && found.body === null;',
        replace: "isBlocked = false;",
      },
    ],
  },
  {
    name: "clock-ahead-between-two-polls",
    finding:
      "a clock that is ahead for a moment, or set back while a receiver starts, delays acknowledged events by hours",
    tests: ["test/unit/receiver-kit/worker/clock-jumps.test.ts"],
    patches: [{ find: "this.#watchWait(nextInMs);", replace: "void this.#watchWait;" }],
  },
];

export const findingMutants: readonly FindingMutant[] = [
  ...sdkMutants.map((mutant) => ({ product: "sdk" as const, ...mutant })),
  ...mockMutants.map((mutant) => ({ product: "mock-server" as const, ...mutant })),
  ...receiverMutants.map((mutant) => ({ product: "receiver-kit" as const, ...mutant })),
];
