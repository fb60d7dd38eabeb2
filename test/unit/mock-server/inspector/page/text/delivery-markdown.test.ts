import type { DeliveryDetail } from "@workspace-tasks/mock-server/control";
import { expect, it } from "vitest";
import { deliveryMarkdown } from "../../../../../../mock-server/inspector/page/src/text/delivery-markdown.ts";

it("a report of a delivery has its attempts as a table, and fences that its bodies cannot end", () => {
  const delivery = {
    id: "delivery-1",
    event: "task.failed",
    url: null,
    taskId: "task-1",
    client: null,
    nextAttemptAt: null,
    attempts: [
      {
        number: 1,
        startedAt: "2026-01-15T12:00:00.123Z",
        status: null,
        error: "reset | by\npeer",
        durationMs: 1_200,
        requestBody: '{"text":"```"}',
        responseBody: "",
      },
    ],
  } as unknown as DeliveryDetail;
  expect(deliveryMarkdown(delivery, "http://mock/#/deliveries/delivery-1")).toBe(
    [
      "### task.failed → a deleted endpoint",
      "- delivery: [delivery-1](http://mock/#/deliveries/delivery-1)\n- task: task-1",
      "| # | time | response | duration | error |\n|---|---|---|---|---|\n" +
        "| 1 | 2026-01-15 12:00:00.123 UTC | no response | 1.2 s | reset \\| by peer |",
      'Body:\n````\n{\n  "text": "```"\n}\n````',
    ].join("\n\n"),
  );
});
