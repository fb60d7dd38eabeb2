// A signed body that cannot be used was sent by the real sender. Quarantined (2xx) it can be inspected and replayed;
// rejected (4xx) it is retried in vain for days. Both are acceptable; a 5xx or a timeout is not.

import type { CheckDefinition, CheckTable } from "./check.ts";
import { labelled, type ProbeCheck, shouldHandle } from "./probe-check.ts";

const quarantineIt =
  "Parse the body in a try block after verifying; store what cannot be parsed, acknowledge it and raise an alarm.";

function unusable({
  bodies,
  ...check
}: Pick<ProbeCheck, "title" | "sent"> & {
  readonly fix?: string;
  readonly bodies: (sample: string) => Readonly<Record<string, Buffer | string>>;
}): CheckDefinition {
  return shouldHandle({
    fix: quarantineIt,
    expected: "2xx (quarantined) or 4xx, in time",
    ...check,
    probes: (target) =>
      labelled(bodies(JSON.stringify(target.samples.task({ errorMessage: "here" }))), (body) =>
        target.compose({ body }),
      ),
  });
}

export const bodyChecks: CheckTable = {
  "bodies.empty": unusable({
    title: "handles a signed empty body",
    sent: "a correctly signed delivery without a body",
    bodies: () => ({ empty: "" }),
  }),
  "bodies.not-json": unusable({
    title: "handles a signed body that is not JSON",
    sent: "correctly signed deliveries whose bodies are plain text, XML, and truncated JSON",
    bodies: () => ({ text: "hello", xml: "<event/>", truncated: '{"event":"task.running","taskId":"' }),
  }),
  "bodies.not-an-object": unusable({
    title: "handles signed JSON that is not an object",
    sent: "correctly signed deliveries whose bodies are `[]`, `null`, `123` and a string",
    fix: `${quarantineIt} JSON.parse accepts \`null\` and arrays; reading their properties then fails.`,
    bodies: () => ({ array: "[]", null: "null", number: "123", string: '"x"' }),
  }),
  "bodies.byte-order-mark": unusable({
    title: "handles a signed byte order mark",
    sent: "a delivery with EF BB BF in front of the JSON, signed that way",
    bodies: (sample) => ({ "byte order mark": `\uFEFF${sample}` }),
  }),
  "bodies.not-utf8": unusable({
    title: "handles signed bytes that are not UTF-8",
    sent: "a delivery with the byte 0xFF inside a string, signed over exactly these bytes",
    fix: `${quarantineIt} Verify over bytes, then decode strictly.`,
    bodies: (sample) => ({ "0xFF": Buffer.from(sample.replace("here", "\u00ff"), "latin1") }),
  }),
  "bodies.nul-bytes": unusable({
    title: "handles raw NUL bytes",
    sent: "a signed body of sixteen NUL bytes",
    bodies: () => ({ NUL: Buffer.alloc(16) }),
  }),
  "bodies.missing-fields": unusable({
    title: "handles an event without its fields",
    sent: "signed task events with no field but the name, with no name, and with fields of wrong types",
    bodies: () => ({
      "name only": '{"event":"task.completed"}',
      "no name": "{}",
      "wrong types": '{"event":"task.completed","taskId":{"a":1},"occurredAt":12,"status":[]}',
    }),
  }),
  "bodies.impossible-times": unusable({
    title: "handles impossible times",
    sent: "signed task events whose occurredAt is 30 February, the year 2999, and not a time",
    fix: "Quarantine events whose occurredAt is invalid or far in the future: as newest state they would block all others.",
    bodies: (sample) =>
      Object.fromEntries(
        ["2026-02-30T00:00:00Z", "2999-01-01T00:00:00Z", "yesterday"].map((occurredAt) => [
          occurredAt,
          sample.replace(/"occurredAt":"[^"]*"/, `"occurredAt":"${occurredAt}"`),
        ]),
      ),
  }),
};
