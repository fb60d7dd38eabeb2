import type { Answer } from "../target/connection.ts";
import type { Delivery } from "../target/scheme.ts";
import type { Target } from "../target/target.ts";
import { type AuditCheck, failed } from "./check.ts";
import { acknowledgedWithEffects } from "./effects.ts";
import { describeAnswer, isRefused } from "./probe-check.ts";

const uniqueId =
  "Store webhook-id under a uniqueness constraint, in the same transaction as the effect, for as long as retries go on (days); answer a known id with 2xx and do nothing.";
const copies = 50;

async function inTurn(target: Target, deliveries: readonly Delivery[]): Promise<readonly Answer[]> {
  const answers: Answer[] = [];
  for (const delivery of deliveries) answers.push(await target.send(delivery));
  return answers;
}

/** All copies but their last byte first, then all the last bytes, so that they are complete together. */
async function atOnce(target: Target, delivery: Delivery): Promise<readonly Answer[]> {
  const bytes = target.request(delivery);
  const connections = Array.from({ length: copies }, () => target.connect());
  try {
    await Promise.all(connections.map((connection) => connection.write(bytes.subarray(0, -1))));
    for (const connection of connections) void connection.write(bytes.subarray(-1));
    const answers = connections.map((connection) => connection.answer(target.limits.timeoutMs));
    return (await Promise.all(answers)).map((answer) => target.record(delivery, answer));
  } finally {
    for (const connection of connections) connection.close();
  }
}

const stage = "alone";
const requirement = "MUST";
const expected = "2xx each time, one effect";

export const duplicateChecks: readonly AuditCheck[] = [
  {
    id: "duplicates.again",
    requirement,
    stage,
    expected,
    title: "acknowledges the same request again without doing it again",
    sent: "the same bytes three times, one after another",
    mend: `${uniqueId} Never answer 409 or another error: the sender would go on retrying.`,
    run(target) {
      const delivery = target.compose();
      return acknowledgedWithEffects(target, [delivery.id], () =>
        inTurn(target, [delivery, delivery, delivery]),
      );
    },
  },
  {
    id: "duplicates.fresh-signature",
    requirement,
    stage,
    expected,
    title: "recognises a retry, which carries a new timestamp and signature",
    sent: "one delivery twice with the same webhook-id, signed two minutes apart, as a retry is",
    mend: `${uniqueId} Deduplicate by webhook-id alone, not by signature, timestamp or the whole request.`,
    run(target) {
      const payload = target.samples.task();
      const first = target.compose({ payload, ageSeconds: 120 });
      const retry = target.compose({ payload, id: first.id });
      return acknowledgedWithEffects(target, [first.id], () => inTurn(target, [first, retry]));
    },
  },
  {
    id: "duplicates.concurrent",
    requirement,
    stage,
    expected: `2xx ${copies} times, one effect`,
    title: `takes ${copies} copies at once for one`,
    sent: `${copies} copies of one delivery, each on its own connection, completed at the same moment`,
    mend: `${uniqueId} Looking first and inserting afterwards lets two copies pass: insert, and let the constraint decide.`,
    run(target) {
      const delivery = target.compose();
      return acknowledgedWithEffects(target, [delivery.id], () => atOnce(target, delivery));
    },
  },
  {
    id: "duplicates.distinct-ids",
    requirement,
    stage,
    expected: "2xx each time, one effect each",
    title: "takes ids that differ in case only for different deliveries",
    sent: "two deliveries whose ids differ in the case of one letter",
    mend: "Compare ids byte by byte: some database collations ignore case and would swallow the second.",
    run(target) {
      const id = target.nextId();
      const deliveries = [target.compose({ id: `${id}a` }), target.compose({ id: `${id}A` })];
      return acknowledgedWithEffects(
        target,
        deliveries.map((delivery) => delivery.id),
        () => inTurn(target, deliveries),
      );
    },
  },
  {
    id: "duplicates.same-body",
    requirement,
    stage,
    expected: "2xx each time, one effect each",
    title: "takes equal bodies under different ids for different deliveries",
    sent: "one body under two ids",
    mend: "Deduplicate by webhook-id, not by a hash of the body: equal events may happen twice.",
    run(target) {
      const body = JSON.stringify(target.samples.documents({ id: "audit-same" }));
      const deliveries = [target.compose({ body }), target.compose({ body })];
      return acknowledgedWithEffects(
        target,
        deliveries.map((delivery) => delivery.id),
        () => inTurn(target, deliveries),
      );
    },
  },
  {
    id: "duplicates.other-body",
    requirement: "SHOULD",
    stage,
    expected,
    title: "keeps to the first body of an id",
    sent: "two deliveries with the same webhook-id and different bodies, both rightly signed",
    mend: `${uniqueId} An error for the second makes the sender retry it; keep the first, and log that they differ.`,
    run(target) {
      const first = target.compose();
      const second = target.compose({ id: first.id });
      return acknowledgedWithEffects(target, [first.id], () => inTurn(target, [first, second]));
    },
  },
  {
    id: "duplicates.forged-first",
    requirement,
    stage,
    expected: "4xx for the forged one, then 2xx and one effect for the true one",
    title: "does not let a forged delivery use up an id",
    sent: "a forged delivery, then the true one with the same webhook-id",
    mend: "Verify the signature before touching the store: otherwise anyone can make a delivery look like a duplicate.",
    async run(target) {
      const delivery = target.compose();
      const forged = await target.send({ ...delivery, signature: target.signForged(delivery) });
      if (!isRefused(forged)) return failed(`${describeAnswer(forged)} for the forged one`);
      const finding = await acknowledgedWithEffects(target, [delivery.id], () => inTurn(target, [delivery]));
      return { ...finding, received: `${describeAnswer(forged)}, then ${finding.received}` };
    },
  },
];
