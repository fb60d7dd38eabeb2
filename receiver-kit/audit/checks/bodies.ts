import type { AuditCheck } from "./check.ts";
import { handledCheck } from "./probe-check.ts";

// A signed body that cannot be used comes from the real sender. Kept aside (2xx) it can be looked at and
// replayed; refused (4xx) it is retried in vain for days. Either is an answer; a 5xx or silence is not.

const keepAside =
  "Read the body inside a try, after verifying; keep what cannot be read aside, acknowledge it and raise an alarm.";

function unusable(options: {
  readonly id: string;
  readonly title: string;
  readonly sent: string;
  readonly mend?: string;
  readonly bodies: (sample: string) => Readonly<Record<string, Buffer | string>>;
}): AuditCheck {
  const { bodies, ...check } = options;
  return handledCheck({
    requirement: "SHOULD",
    mend: keepAside,
    expected: "2xx (kept aside) or 4xx, in time",
    ...check,
    shots: (target) =>
      Object.entries(bodies(JSON.stringify(target.samples.task({ errorMessage: "here" })))).map(
        ([label, body]) => ({ label, delivery: target.compose({ body }) }),
      ),
  });
}

export const bodyChecks: readonly AuditCheck[] = [
  unusable({
    id: "bodies.empty",
    title: "copes with a signed empty body",
    sent: "a rightly signed delivery without a body",
    bodies: () => ({ empty: "" }),
  }),
  unusable({
    id: "bodies.not-json",
    title: "copes with a signed body that is not JSON",
    sent: "rightly signed deliveries whose bodies are plain text, XML, and JSON cut off in the middle",
    bodies: () => ({ text: "hello", xml: "<event/>", "cut off": '{"event":"task.running","taskId":"' }),
  }),
  unusable({
    id: "bodies.not-an-object",
    title: "copes with signed JSON that is not an object",
    sent: "rightly signed deliveries whose bodies are `[]`, `null`, `123` and a text",
    mend: `${keepAside} \`null\` and lists pass JSON.parse and fail at the first property.`,
    bodies: () => ({ list: "[]", null: "null", number: "123", text: '"x"' }),
  }),
  unusable({
    id: "bodies.byte-order-mark",
    title: "copes with a signed byte order mark",
    sent: "a delivery with EF BB BF in front of the JSON, signed that way",
    bodies: (sample) => ({ "byte order mark": `\uFEFF${sample}` }),
  }),
  unusable({
    id: "bodies.not-utf8",
    title: "copes with signed bytes that are not UTF-8",
    sent: "a delivery with the byte 0xFF inside a text, signed over those very bytes",
    mend: `${keepAside} Verify over bytes, then decode strictly.`,
    bodies: (sample) => ({ "0xFF": Buffer.from(sample.replace("here", "\u00ff"), "latin1") }),
  }),
  unusable({
    id: "bodies.nul-bytes",
    title: "copes with raw NUL bytes",
    sent: "a signed body of sixteen NUL bytes",
    bodies: () => ({ NUL: Buffer.alloc(16) }),
  }),
  unusable({
    id: "bodies.missing-fields",
    title: "copes with an event that lacks its fields",
    sent: "signed task events with no field but the name, with no name, and with fields of wrong types",
    bodies: () => ({
      "name only": '{"event":"task.completed"}',
      "no name": "{}",
      "wrong types": '{"event":"task.completed","taskId":{"a":1},"occurredAt":12,"status":[]}',
    }),
  }),
  unusable({
    id: "bodies.impossible-times",
    title: "copes with times that cannot be",
    sent: "signed task events whose occurredAt is 30 February, the year 2999, and no time at all",
    mend: "Keep events aside whose occurredAt is no time or far ahead: as newest state they would shut out all others.",
    bodies: (sample) =>
      Object.fromEntries(
        ["2026-02-30T00:00:00Z", "2999-01-01T00:00:00Z", "yesterday"].map((occurredAt) => [
          occurredAt,
          sample.replace(/"occurredAt":"[^"]*"/, `"occurredAt":"${occurredAt}"`),
        ]),
      ),
  }),
];
