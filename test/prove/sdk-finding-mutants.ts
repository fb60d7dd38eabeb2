import type { FindingMutant } from "./finding-mutant.ts";

export const sdkFindingMutants: readonly FindingMutant[] = [
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
    name: "retry-after-of-ten-digits",
    finding: "a Retry-After of ten digits is ignored",
    tests: ["test/unit/sdk/request/retry-after.test.ts"],
    patches: [{ find: "const seconds = /^\\d+$/;", replace: "const seconds = /^\\d{1,9}$/;" }],
  },
  {
    name: "key-function-without-limit",
    finding: "a function that never returns the key blocks the client",
    tests: ["test/unit/sdk/credentials/credentials.test.ts"],
    named: "read again after its function",
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
    name: "credit-shared",
    finding: "processes that share a limit exceed it when their latencies differ",
    tests: [
      "test/unit/sdk/rate-limit/sliding-window.test.ts",
      "test/unit/sdk/rate-limit/shared-slots.test.ts",
    ],
    patches: [
      {
        find: "return Math.max(0, this.#arrivedByMs(slot) + this.#windowMs + windowMarginMs - nowMs);",
        replace: "return Math.max(0, startMs + this.#cooldownMs() - nowMs);",
      },
    ],
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
    name: "token-for-each-client",
    finding: "clients of one key that are used one after the other exchange the key once each",
    tests: ["test/unit/sdk/credentials/shared-token.test.ts"],
    patches: [
      {
        find: "const isUsable = current !== undefined && nowMs < shared.dueAtMs;",
        replace: "const isUsable = false;",
      },
    ],
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
    name: "one-queue",
    finding: "a call of a person waits behind the background calls before it",
    tests: ["test/unit/sdk/rate-limit/priority.test.ts"],
    named: "gets the next free slot",
    patches: [
      {
        find: "return { position: this.#entries++, priority, queuedMs: 0, rejections: 0 };",
        replace: 'return { position: this.#entries++, priority: "normal", queuedMs: 0, rejections: 0 };',
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
    name: "block-forgotten",
    finding:
      "a new client sends at once although the service blocks the key, because the last client was closed",
    tests: ["test/unit/sdk/rate-limit/limiter-registry.test.ts"],
    patches: [
      {
        find: "this.#window.isIdle(nowMs) && !this.#pacing.isBlocked(nowMs);",
        replace: "this.#window.isIdle(nowMs);",
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
    name: "forbidden-by-a-proxy",
    finding: "the HTML page of a proxy with status 403 is reported as a missing permission",
    tests: ["test/unit/sdk/request/classify-response.test.ts"],
    patches: [{ find: "if (status === 403 && isService)", replace: "if (status === 403)" }],
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
    name: "error-extensions-lost",
    finding: "an error of the service lacks its extensions, such as the field that it is about",
    tests: ["test/unit/sdk/engine/response-details.test.ts"],
    patches: [
      {
        find: "...(isRecord(extensions) ? { extensions: readExtensions(extensions, redactor) } : {}),",
        replace: "",
      },
    ],
  },
  {
    name: "error-locations-lost",
    finding: "an error of the service does not say where in the document it is",
    tests: ["test/unit/sdk/engine/response-details.test.ts"],
    patches: [
      { find: "...(Array.isArray(locations) ? { locations: readLocations(locations) } : {}),", replace: "" },
    ],
  },
  {
    name: "response-headers-lost",
    finding: "results and errors lack the headers of the response",
    tests: ["test/unit/sdk/engine/response-details.test.ts"],
    patches: [{ find: "all.slice(0, entriesMax)", replace: "all.slice(0, 0)" }],
  },
  {
    name: "cut-response-not-repeated",
    finding: "a query whose JSON response was cut fails and is not repeated",
    tests: ["test/unit/sdk/request", "test/unit/sdk/engine"],
    patches: [{ find: "if (isTruncated) {", replace: "if (isTruncated && status === 0) {" }],
  },
  {
    name: "damaged-gzip-not-repeated",
    finding: "a query whose compressed response is damaged or incomplete fails and is not repeated",
    tests: ["test/unit/sdk/request/response-body.test.ts"],
    patches: [
      {
        find: 'return failure("RESPONSE_INVALID", message, details);',
        replace: 'return failure("RESPONSE_INVALID", message, { ...details, remedy: "none" });',
      },
    ],
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
  {
    name: "hover-shows-machinery",
    finding: "an editor shows the machinery of a result's type in place of its name",
    tests: ["test/unit/sdk/hover.test.ts"],
    named: "endpointSecret",
    needsCopy: true,
    patches: [
      {
        find: "export interface WebhookEndpointSecret\n  extends Override<schema.WebhookEndpointSecret, { readonly endpoint: WebhookEndpoint }> {}",
        replace:
          "export type WebhookEndpointSecret = Override<schema.WebhookEndpointSecret, { readonly endpoint: WebhookEndpoint }>;",
      },
    ],
  },
  {
    name: "unchecked-variables",
    finding: "the compiler accepts a request with a typed document and wrong variables",
    tests: ["test/types/type-tests.test.ts"],
    needsCopy: true,
    patches: [
      {
        find: "...args: RequestArguments<NotInferred<Variables>>",
        replace: "variables?: Variables | undefined,\n    options?: RequestOptions | undefined,",
      },
    ],
  },
  {
    name: "idempotent-mutation-not-repeated",
    finding: "a mutation that may be repeated fails when the connection is lost, with an unknown outcome",
    tests: ["test/unit/sdk/engine/call-options.test.ts"],
    patches: [
      {
        find: '"UpdateWebhookEndpoint", UpdateWebhookEndpointDocument, {\n  idempotent: true,\n}',
        replace: '"UpdateWebhookEndpoint", UpdateWebhookEndpointDocument, {}',
      },
      {
        find: '"DeleteWebhookEndpoint", DeleteWebhookEndpointDocument, {\n  idempotent: true,',
        replace: '"DeleteWebhookEndpoint", DeleteWebhookEndpointDocument, {',
      },
    ],
  },
  {
    name: "add-users-not-repeated",
    finding: "partner.workspaces.addUsers fails when the connection is lost, with an unknown outcome",
    tests: ["test/unit/sdk/engine/call-options.test.ts"],
    patches: [
      {
        find: '"AddUsersToTheWorkspace", AddUsersToTheWorkspaceDocument, {\n  idempotent: true,\n}',
        replace: '"AddUsersToTheWorkspace", AddUsersToTheWorkspaceDocument, {}',
      },
    ],
  },
  {
    name: "collect-not-repeated",
    finding: "partner.connections.collect fails when the connection is lost, with an unknown outcome",
    tests: ["test/unit/sdk/engine/call-options.test.ts"],
    patches: [
      {
        find: '"CollectProviderConnection", CollectProviderConnectionDocument, {\n  idempotent: true,\n}',
        replace: '"CollectProviderConnection", CollectProviderConnectionDocument, {}',
      },
    ],
  },
  {
    name: "start-import-not-repeated",
    finding: "partner.jobs.startImport fails when the connection is lost, with an unknown outcome",
    tests: ["test/unit/sdk/engine/call-options.test.ts"],
    patches: [
      {
        find: '"InitiateTaxPrepsImport", InitiateTaxPrepsImportDocument, {\n  idempotent: true,\n}',
        replace: '"InitiateTaxPrepsImport", InitiateTaxPrepsImportDocument, {}',
      },
    ],
  },
  {
    name: "mutation-without-data",
    finding: "a mutation whose response lacks its field resolves to undefined",
    tests: ["test/unit/sdk/engine", "test/unit/sdk/operations"],
    patches: [
      {
        find: 'if (result === undefined || (result === null && typeof pick !== "function")) throw lacks();',
        replace: 'if (result === null && typeof pick !== "function") throw lacks();',
      },
    ],
  },
  {
    name: "token-with-a-line-end",
    finding: "a token with a line end is reported as a mistake in the caller's variables",
    tests: ["test/unit/sdk/credentials/credentials.test.ts"],
    patches: [{ find: "if (!isSendableKey(token)) return undefined;", replace: "void isSendableKey;" }],
  },
  {
    name: "blocked-port",
    finding: "a request that fetch never sends, to a reserved port, has an unknown outcome",
    tests: ["test/unit/sdk/request/network-failure.test.ts"],
    patches: [
      { find: "const refusedBeforeSending = /^(?:bad port$|", replace: "const refusedBeforeSending = /^(?:" },
    ],
  },
  {
    name: "empty-fields-printed",
    finding: "a printed error has fields without a value",
    tests: ["test/unit/sdk/engine/response-details.test.ts", "test/unit/sdk/errors.test.ts"],
    patches: [
      {
        find: "if (value !== undefined) Object.assign(this, { [name]: value });",
        replace: "Object.assign(this, { [name]: value });",
      },
    ],
  },
  {
    name: "queue-that-is-searched",
    finding: "20,000 waiting calls take seconds to enter the queue, or to be aborted",
    tests: ["test/unit/sdk/rate-limit/call-queue.test.ts"],
    patches: [
      {
        find: "const node = this.#nodes.get(call);",
        replace: "const node = [...this.#nodes].find(([each]) => each === call)?.[1];",
      },
    ],
  },
  {
    name: "host-not-named",
    finding: "an error does not say which host cannot be reached, and its cause has no code of the system",
    tests: ["test/unit/sdk/request/network-failure.test.ts"],
    patches: [
      {
        find: "const { redactor, host } = context;",
        replace: 'const { redactor } = context;\n  const host = "the service";',
      },
      {
        find: 'cause instanceof Error && !("code" in cause))',
        replace: 'cause instanceof Error && "code" in cause)',
      },
    ],
  },
  {
    name: "abandoned-client-kept",
    finding: "a client that is never closed is never collected when timers of its clock refer to it",
    tests: ["test/unit/sdk/call/process-registry.test.ts"],
    patches: [
      { find: "const kept = weakEntry.deref();", replace: "const kept = weakEntry.deref() && entry;" },
    ],
  },
  {
    name: "user-agent-without-version",
    finding: "the service cannot tell the versions of the package apart by the user agent",
    tests: ["test/unit/sdk/engine/call-options.test.ts"],
    named: "user agent",
    patches: [{ find: "const own = `", replace: 'const own = "workspace-tasks" || `' }],
  },
  {
    name: "no-default-deadline",
    finding: "a call without a deadline waits without limit",
    tests: ["test/unit/sdk/rate-limit/priority.test.ts"],
    named: "default deadline",
    patches: [
      {
        find: "call.deadlineMs ?? options.deadlineMs ?? deadlineMsDefaults[priority];",
        replace: "call.deadlineMs ?? options.deadlineMs;",
      },
    ],
  },
  {
    name: "aborted-request-has-arrived",
    finding: "the slot of a request that is aborted at once is free before the request can have arrived",
    tests: ["test/unit/sdk/rate-limit/sliding-window.test.ts"],
    named: "aborted at once",
    patches: [
      {
        find: "Math.max(endedAtMs, startedAtMs + this.#onTheWayMs());",
        replace: "Math.max(endedAtMs, startedAtMs);",
      },
    ],
  },
];
