// Which files are mutated, and the tests that must notice: files of the products that decide, do no I/O, wait for nothing,
// and have a test file at their path in test/unit or test/integration. The verifier and the faults that the mock draws are added.

import { existsSync } from "node:fs";

/** The test file at the path of a file. */
function ownTest(path: string): string {
  const name = path.replace(/\.ts$/, ".test.ts");
  const found = ["unit", "integration"]
    .map((need) => `test/${need}/${name}`)
    .find((file) => existsSync(file));
  if (found === undefined) throw new Error(`${path} has no test file of its own`);
  return found;
}

/** Files with a test file of their own, and further tests that cover them. */
const ownTests: Readonly<Record<string, readonly string[]>> = {
  "sdk/call/operation.ts": [],
  "receiver-kit/inbox/handler-transaction.ts": ["test/integration/receiver-kit/inbox/statement-text.test.ts"],
  "sdk/call/redactor.ts": ["test/unit/sdk/secrets.test.ts"],
  "sdk/engine/document.ts": [],
  "sdk/events/webhook-event.ts": [],
  "sdk/rate-limit/sliding-window.ts": [],
  "sdk/rate-limit/slow-start.ts": [],
  "sdk/request/classify-response.ts": [
    "test/integration/sdk/request/transport.test.ts",
    "test/unit/sdk/engine/response-details.test.ts",
  ],
  "sdk/request/retry-policy.ts": [],
  "sdk/kernel/json.ts": [
    "test/integration/mock-server/control/control-handler.test.ts",
    "test/unit/receiver-kit/event/parse-delivery.test.ts",
  ],
  "mock-server/graphql/media-type.ts": ["test/integration/conformance/transport.test.ts"],
  "mock-server/time/heap.ts": [],
  "mock-server/time/duration.ts": [],
  "mock-server/world/fault-store.ts": [],
  "mock-server/world/random.ts": [],
  "mock-server/world/rate-limit.ts": ["test/integration/conformance/rate-limit.test.ts"],
  "mock-server/world/request-journal.ts": ["test/integration/mock-server/control/inspector-calls.test.ts"],
  "mock-server/world/tokens.ts": [],
  "mock-server/control/lists.ts": ["test/integration/mock-server/control/inspector-calls.test.ts"],
  "mock-server/rules/retry-plan.ts": [],
  "mock-server/rules/records.ts": [
    "test/integration/conformance/endpoints.test.ts",
    "test/integration/conformance/partner.test.ts",
  ],
  "receiver-kit/worker/byte-budget.ts": [],
  "receiver-kit/event/event-order.ts": [],
  "receiver-kit/event/parse-delivery.ts": [
    "test/integration/receiver-kit/webhook-middleware.test.ts",
    "test/integration/receiver-kit/tenants.test.ts",
  ],
  "receiver-kit/rabbitmq/delivery-message.ts": [
    "test/integration/formats/formats.test.ts",
    "test/unit/receiver-kit/rabbitmq/rabbitmq-consumer.test.ts",
  ],
  "receiver-kit/signature/secret.ts": [],
  "receiver-kit/signature/signature-headers.ts": [],
  "receiver-kit/signature/verifier.ts": ["test/integration/receiver-kit/webhook-middleware.test.ts"],
  "receiver-kit/worker/chain-queue.ts": [],
  "receiver-kit/worker/prefetch-size.ts": [],
  "receiver-kit/attempt/retry-policy.ts": [],
};

export const policyFiles: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  Object.entries(ownTests).map(([path, more]) => [path, [ownTest(path), ...more]]),
);
