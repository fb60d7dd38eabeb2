import type { DeliveryDetail, RecordedRequest } from "@workspace-tasks/mock-server/control";
import { mockTest } from "@workspace-tasks/mock-server/vitest";
import { describe, expect, it } from "vitest";
import { readPastedRequest } from "../../../../../mock-server/inspector/page/src/signature.ts";
import * as format from "../../../../../mock-server/inspector/page/src/text.ts";
import {
  canBeSent,
  deliveryMarkdown,
  describeMatch,
  describeRule,
  labelOfEndpoint,
  reasonOf,
  reasonOfFailure,
} from "../../../../../mock-server/inspector/page/src/text.ts";
import { jsonPost } from "../../../../support/mock-client.ts";

describe("a time limit or a duration of a request", () => {
  it.each<[what: string, shown: () => string, expected: string]>([
    ["when a window ends", () => format.formatReset(61_000, 1_000), "frees in 1 min"],
    ["that a window ends now", () => format.formatReset(1_000, 1_000), "frees now"],
    ["never that a window ended in the past", () => format.formatReset(1_000, 5_300), "frees now"],
    ["how long a response took", () => format.withDuration(204, " in", 12), "204 in 12 ms"],
    ["no duration on a virtual clock", () => format.withDuration(204, " in", 0), "204"],
    ["no duration of less than a millisecond", () => format.withDuration(204, " in", 0.3), "204"],
  ])("shows %s", (_, shown, expected) => {
    expect(shown()).toBe(expected);
  });
});

describe("formatBody", () => {
  it("indents JSON and leaves other text unchanged", () => {
    expect(format.formatBody('{"a":1}')).toBe('{\n  "a": 1\n}');
    expect(format.formatBody('{"a":')).toBe('{"a":');
    expect(format.formatBody("[ ]")).toBe("[]");
  });

  it("changes no value: long numbers, equal keys and escapes stay as they are written", () => {
    const text = '{"id":12345678901234567890,"id":1.0,"__proto__":["\\u00e9\\"}",{}, -1e5,true,null]}';
    expect(format.formatBody(text)).toBe(
      [
        "{",
        '  "id": 12345678901234567890,',
        '  "id": 1.0,',
        '  "__proto__": [',
        '    "\\u00e9\\"}",',
        "    {},",
        "    -1e5,",
        "    true,",
        "    null",
        "  ]",
        "}",
      ].join("\n"),
    );
  });

  it("leaves JSON alone that is nested a thousand levels deep", () => {
    const deep = `${"[".repeat(1_000)}${"]".repeat(1_000)}`;
    expect(format.formatBody(deep)).toBe(deep);
  });
});

describe("toCurl", () => {
  const headers = {
    host: "x",
    "content-length": "9",
    "webhook-id": "msg_1",
    "webhook-signature": "v1,a= v1,b=",
  };
  const body = `{"it":"it's"}`;

  it("leaves out headers that curl sets, and quotes for the shell", () => {
    expect(format.toCurl({ url: "https://a.example/b?c='d'", headers, body })).toBe(
      [
        `curl -g -X POST`,
        `'https://a.example/b?c='\\''d'\\'''`,
        `-H 'webhook-id: msg_1'`,
        `-H 'webhook-signature: v1,a= v1,b='`,
        `--data-raw '{"it":"it'\\''s"}'`,
      ].join(" \\\n  "),
    );
  });

  it("takes brackets of the URL and an @ at the start of the body as they are", () => {
    const command = format.toCurl({ url: "https://a.example/{x,y}?id=[1-3]", headers: {}, body: "@file" });
    expect(command).toMatch(/^curl -g /);
    expect(command).toContain("--data-raw '@file'");
  });

  it("writes what readPastedRequest reads", () => {
    expect(readPastedRequest(format.toCurl({ url: "https://a.example", headers, body }))).toEqual({
      id: "msg_1",
      timestamp: "",
      signature: "v1,a= v1,b=",
      body,
    });
  });
});

describe("the label of an endpoint", () => {
  it.each([
    ["https://a.example/webhooks", "a.example/webhooks"],
    ["https://a.example/", "a.example"],
    [`https://a.example/${"harbour-street/".repeat(12)}webhooks`, "a.example/…et/harbour-street/webhooks"],
    [null, "a deleted endpoint"],
  ])("of %s has its host and the end of its path", (url, label) => {
    expect(labelOfEndpoint(url, 37)).toBe(label);
  });

  it("has at most so many characters, of any URL", () => {
    for (const host of ["a.example", `${"long-".repeat(20)}host.example`])
      for (const path of ["", "/hooks", `/${"x".repeat(300)}`])
        expect(labelOfEndpoint(`https://${host}${path}`, 32).length).toBeLessThanOrEqual(32);
  });
});

it.each([
  ["ECONNREFUSED: nothing listens there", "refused"],
  ["no response within 15000 ms", "timed out"],
  ["no complete response within 15000 ms", "timed out"],
  ["ECONNRESET: the receiver closed the connection", "no response"],
])("an attempt that ended with %s: %s", (error, reason) => {
  expect(reasonOfFailure(error)).toBe(reason);
});

const unauthorized = { message: "Unauthorized", code: "UNAUTHORIZED", path: null };

const reasonWith = (changes: Partial<RecordedRequest>) =>
  reasonOf({ errors: [], rejection: null, faults: [], status: 200, ...changes } as RecordedRequest);

describe("reasonOf", () => {
  it("is the mock's own reason, not the generic message that the caller got", () => {
    expect(reasonWith({ errors: [unauthorized], rejection: "token expired" })).toBe("token expired");
    expect(reasonWith({ errors: [unauthorized] })).toBe("Unauthorized");
  });

  it("is the status of the response when a fault caused it, or that the connection was cut", () => {
    expect(reasonWith({ faults: ["status"], status: 429 })).toBe("fault: status 429");
    expect(reasonWith({ faults: ["reset-after-effect"], status: null })).toBe("fault: reset-after-effect");
    expect(reasonWith({ status: 413 })).toBe("413");
  });
});

it("a rule of a fault plan is described by its faults, how often, and where; a used one by nothing", () => {
  const unavailable = { kind: "status", status: 503, retryAfterSeconds: 1 } as const;
  const rule = { operation: "me", instructions: [unavailable, unavailable, { kind: "html" } as const] };
  expect(describeRule(rule)).toBe(
    "HTTP 503, retry after 1 s, the next 2 times, then an HTML page, the next time",
  );
  expect(describeMatch(rule)).toBe("me");
  const late = { probability: 0.15, fault: { kind: "delay", delayMs: 90_000 } as const };
  expect(describeRule({ chances: [late] })).toBe("1 min 30 s late, 15 % of the time");
  expect(describeRule({ instructions: [] })).toBe("");
});

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

mockTest.for([
  '{ me(token: "wtk_0123456789") { __typename } }',
  `{ me { __typename } } # ${"long ".repeat(2_000)}`,
])(
  "the page finds the query that it sent in the journal, which redacts and cuts it: %s",
  async (query, { mock }) => {
    await mock.fetch("/graphql", jsonPost({ query }));
    const recorded = (await mock.control.listRequests()).data[0]?.query ?? null;
    expect(recorded).not.toBe(query);
    expect(canBeSent(recorded, query)).toBe(true);
    expect(canBeSent(recorded, "{ webhookEventCatalog { name } }")).toBe(false);
  },
);
