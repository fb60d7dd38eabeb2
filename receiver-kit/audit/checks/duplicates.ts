import type { ProbeResult } from "../target/connection.ts";
import type { Delivery } from "../target/signing.ts";
import type { Target } from "../target/target.ts";
import { type CheckDefinition, type CheckTable, failed } from "./check.ts";
import { acknowledgedWithEffects } from "./effects.ts";
import { describeResult, isRejected } from "./probe-check.ts";

const uniqueId =
  "Store webhook-id under a uniqueness constraint, in the same transaction as the effect, for as long as retries continue (days); respond to a known id with 2xx and do nothing.";
const copies = 50;

/** Sends all copies without their last byte, then all the last bytes, so that they are complete at the same time. */
async function atOnce(target: Target, delivery: Delivery): Promise<readonly ProbeResult[]> {
  const bytes = target.request(delivery);
  const connections = Array.from({ length: copies }, () => target.connect());
  try {
    await Promise.all(connections.map((connection) => connection.write(bytes.subarray(0, -1))));
    for (const connection of connections) void connection.write(bytes.subarray(-1));
    return await Promise.all(connections.map((connection) => target.receive(delivery, connection)));
  } finally {
    for (const connection of connections) connection.close();
  }
}

function duplicateCheck({
  deliveries,
  ...check
}: Omit<CheckDefinition, "run" | "stage" | "expected" | "requirement"> & {
  readonly requirement?: CheckDefinition["requirement"];
  readonly expected?: string;
  readonly deliveries: (target: Target) => readonly Delivery[];
}): CheckDefinition {
  return {
    requirement: "MUST",
    expected: "2xx each time, one effect",
    ...check,
    stage: "alone",
    run: (target) => acknowledgedWithEffects(target, deliveries(target)),
  };
}

export const duplicateChecks: CheckTable = {
  "duplicates.again": duplicateCheck({
    title: "acknowledges a repeated request without a second effect",
    sent: "the same bytes three times, one after another",
    fix: `${uniqueId} Never respond 409 or another error: the sender would keep retrying.`,
    deliveries(target) {
      const delivery = target.compose();
      return [delivery, delivery, delivery];
    },
  }),
  "duplicates.fresh-signature": duplicateCheck({
    title: "recognizes a retry, which has a new timestamp and signature",
    sent: "one delivery twice with the same webhook-id, signed two minutes apart, as a retry is",
    fix: `${uniqueId} Deduplicate by webhook-id alone, not by signature, timestamp or the whole request.`,
    deliveries(target) {
      const payload = target.samples.task();
      const first = target.compose({ payload, ageSeconds: 120 });
      return [first, target.compose({ payload, id: first.id })];
    },
  }),
  "duplicates.concurrent": {
    requirement: "MUST",
    stage: "alone",
    expected: `2xx ${copies} times, one effect`,
    title: `treats ${copies} concurrent copies as one delivery`,
    sent: `${copies} copies of one delivery, each on its own connection, completed at the same moment`,
    fix: `${uniqueId} A lookup before the insert lets two copies pass: insert, and let the constraint decide.`,
    run(target) {
      const delivery = target.compose();
      return acknowledgedWithEffects(target, [delivery], () => atOnce(target, delivery));
    },
  },
  "duplicates.distinct-ids": duplicateCheck({
    expected: "2xx each time, one effect each",
    title: "treats ids that differ only in case as different deliveries",
    sent: "two deliveries whose ids differ in the case of one letter",
    fix: "Compare ids byte by byte: some database collations ignore case and would drop the second.",
    deliveries(target) {
      const id = target.nextId();
      return [target.compose({ id: `${id}a` }), target.compose({ id: `${id}A` })];
    },
  }),
  "duplicates.same-body": duplicateCheck({
    expected: "2xx each time, one effect each",
    title: "treats equal bodies under different ids as different deliveries",
    sent: "one body under two ids",
    fix: "Deduplicate by webhook-id, not by a hash of the body: equal events may happen twice.",
    deliveries(target) {
      const body = JSON.stringify(target.samples.documents({ id: "audit-same" }));
      return [target.compose({ body }), target.compose({ body })];
    },
  }),
  "duplicates.other-body": duplicateCheck({
    requirement: "SHOULD",
    title: "keeps the first body of an id",
    sent: "two deliveries with the same webhook-id and different bodies, both correctly signed",
    fix: `${uniqueId} An error for the second makes the sender retry it; keep the first, and log that they differ.`,
    deliveries(target) {
      const first = target.compose();
      return [first, target.compose({ id: first.id })];
    },
  }),
  "duplicates.forged-first": {
    requirement: "MUST",
    stage: "alone",
    expected: "4xx for the forged delivery, then 2xx and one effect for the valid one",
    title: "does not let a forged delivery use up an id",
    sent: "a forged delivery, then the valid one with the same webhook-id",
    fix: "Verify the signature before accessing the store: otherwise anyone can make a delivery look like a duplicate.",
    async run(target) {
      const delivery = target.compose();
      const forged = await target.send({ ...delivery, signature: target.signForged(delivery) });
      if (!isRejected(forged)) return failed(`${describeResult(forged)} for the forged one`);
      const finding = await acknowledgedWithEffects(target, [delivery]);
      return { ...finding, received: `${describeResult(forged)}, then ${finding.received}` };
    },
  },
};
