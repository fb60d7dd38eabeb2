// Checks that count effects. They run alone, and without an observe URL they judge by responses only.

import type { ProbeResult } from "../target/connection.ts";
import type { Delivery, Target } from "../target/target.ts";
import {
  type CheckDefinition,
  type CheckTable,
  type CheckTexts,
  describeResult,
  type Finding,
  failed,
  isAcknowledged,
  isRejected,
  passed,
  passedIf,
  summaryOf,
} from "./probe-check.ts";

export const counted = { requirement: "MUST", stage: "alone" } as const;

async function sendInOrder(target: Target, deliveries: readonly Delivery[]): Promise<readonly ProbeResult[]> {
  const results: ProbeResult[] = [];
  for (const delivery of deliveries) results.push(await target.send(delivery));
  return results;
}

/** Sends, expects only 2xx, and, with an observer, that each id of `deliveries` took effect once. */
export async function acknowledgedWithEffects(
  target: Target,
  deliveries: readonly Delivery[],
  send: typeof sendInOrder = sendInOrder,
): Promise<Finding> {
  const results = await send(target, deliveries);
  const summary = summaryOf(results);
  if (!results.every(isAcknowledged)) return failed(summary);
  if (!target.observer) return judgedByResponses(summary);
  const counts = await target.observer.effectsOf([...new Set(deliveries.map(({ id }) => id))]);
  const isOnceEach = counts.every((count) => count === 1);
  const plural = counts.join() === "1" ? "" : "s";
  return passedIf(isOnceEach, `${summary}; ${counts.join(" and ")} effect${plural}`);
}

const judgedByResponses = (summary: string, reason = "responses only"): Finding => ({
  ...passed(`${summary} (${reason})`),
  responsesOnly: true,
});

const uniqueId =
  "Store webhook-id under a uniqueness constraint, in the same transaction as the effect, for as long as retries continue (days); respond to a known id with 2xx and do nothing.";
const copies = 50;

/** Sends all copies without their last byte, then all the last bytes, so that they are complete at the same time. */
async function sendAtOnce(target: Target, deliveries: readonly Delivery[]): Promise<readonly ProbeResult[]> {
  const requests = deliveries.map((delivery) => ({
    delivery,
    bytes: target.request(delivery),
    connection: target.connect(),
  }));
  try {
    await Promise.all(requests.map(({ connection, bytes }) => connection.write(bytes.subarray(0, -1))));
    for (const { connection, bytes } of requests) void connection.write(bytes.subarray(-1));
    return await Promise.all(
      requests.map(({ connection, delivery }) => target.receive(delivery, connection)),
    );
  } finally {
    for (const { connection } of requests) connection.close();
  }
}

type EffectCheck = CheckTexts & {
  readonly deliveries: (target: Target) => readonly Delivery[];
  readonly send?: typeof sendInOrder;
};

/** A check whose deliveries are acknowledged, with one effect for each of their ids. */
const oneEffectEach = ({ deliveries, send, ...check }: EffectCheck): CheckDefinition => ({
  ...counted,
  expected: "2xx each time, one effect",
  run: (target) => acknowledgedWithEffects(target, deliveries(target), send),
  ...check,
});

const guard =
  "Store occurredAt with the state of each task, and write only if the event's is later; acknowledge the older event as well.";

/** When the task was completed and, earlier, running, as `occurredAt` texts. */
type Times = (nowMs: number) => readonly [completedAt: string, runningAt: string];

/** Sends task.completed, then an older task.running, and, with an observer, expects the task to stay COMPLETED. */
async function staysCompleted(target: Target, times: Times): Promise<Finding> {
  const { observer, samples, compose, clock } = target;
  const taskId = target.nextId();
  const [completedAt, runningAt] = times(clock.now());
  const completed = { taskId, event: "task.completed", status: "COMPLETED", occurredAt: completedAt };
  const newer = compose({ payload: samples.task(completed) });
  const older = compose({ payload: samples.task({ taskId, occurredAt: runningAt }) });
  const results = await sendInOrder(target, [newer, older]);
  const summary = summaryOf(results);
  if (!results.every(isAcknowledged)) return failed(summary);
  if (!observer) return judgedByResponses(summary);
  // Effects may follow the acknowledgement; the older event may correctly have none.
  await observer.effectsOf([newer.id]);
  const status = await observer.taskStatus(taskId);
  if (status === undefined) return judgedByResponses(summary, 'no "status" returned');
  return passedIf(status === "COMPLETED", `${summary}; the task is ${status}`);
}

const order = ({ times, ...check }: CheckTexts & { readonly times: Times }): CheckDefinition => ({
  ...counted,
  requirement: "SHOULD",
  expected: "2xx for both, and the task stays COMPLETED",
  run: (target) => staysCompleted(target, times),
  ...check,
});

const iso = (ms: number) => new Date(ms).toISOString();

export const effectChecks: CheckTable = {
  "duplicates.again": oneEffectEach({
    title: "acknowledges a repeated request without a second effect",
    sent: "the same bytes three times, one after another",
    fix: `${uniqueId} Never respond 409 or another error: the sender would keep retrying.`,
    deliveries: ({ compose }) => Array(3).fill(compose()),
  }),
  "duplicates.fresh-signature": oneEffectEach({
    title: "recognizes a retry, which has a new timestamp and signature",
    sent: "one delivery twice with the same webhook-id, signed two minutes apart, as a retry is",
    fix: `${uniqueId} Deduplicate by webhook-id alone, not by signature, timestamp or the whole request.`,
    deliveries({ samples, compose, nextId }) {
      const delivery = { payload: samples.task(), id: nextId() };
      return [compose({ ...delivery, ageSeconds: 120 }), compose(delivery)];
    },
  }),
  "duplicates.concurrent": oneEffectEach({
    expected: `2xx ${copies} times, one effect`,
    title: `treats ${copies} concurrent copies as one delivery`,
    sent: `${copies} copies of one delivery, each on its own connection, completed at the same moment`,
    fix: `${uniqueId} A lookup before the insert lets two copies pass: insert, and let the constraint decide.`,
    deliveries: ({ compose }) => Array(copies).fill(compose()),
    send: sendAtOnce,
  }),
  "duplicates.distinct": oneEffectEach({
    expected: "2xx each time, one effect each",
    title: "treats different ids as different deliveries",
    sent: "two deliveries whose ids differ in the case of one letter, and one body under two ids",
    fix: "Compare ids byte by byte, as some database collations ignore case; never deduplicate by a hash of the body.",
    deliveries({ nextId, samples, compose }) {
      const id = nextId();
      const payload = samples.documents({ id: "audit-same" });
      return [
        compose({ id: `${id}a` }),
        compose({ id: `${id}A` }),
        compose({ payload }),
        compose({ payload }),
      ];
    },
  }),
  "duplicates.other-body": oneEffectEach({
    requirement: "SHOULD",
    title: "keeps the first body of an id",
    sent: "two deliveries with the same webhook-id and different bodies, both correctly signed",
    fix: `${uniqueId} An error for the second makes the sender retry it; keep the first, and log that they differ.`,
    deliveries({ nextId, compose }) {
      const id = nextId();
      return [compose({ id }), compose({ id })];
    },
  }),
  "duplicates.forged-first": {
    ...counted,
    expected: "4xx for the forged delivery, then 2xx and one effect for the valid one",
    title: "does not let a forged delivery use up an id",
    unverified: "skipped",
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
  "order.older-after-newer": order({
    requirement: "MUST",
    title: "does not let an older event replace newer state",
    sent: "task.completed, then task.running of the same task with an earlier occurredAt",
    fix: guard,
    times: (nowMs) => [iso(nowMs - 10_000), iso(nowMs - 60_000)],
  }),
  "order.microseconds": order({
    title: "orders events that are microseconds apart",
    sent: "task.completed, then task.running of the same task with an occurredAt one microsecond earlier",
    fix: `${guard} Compare the full text of the fraction: for a date type of milliseconds both are equal.`,
    times(nowMs) {
      const second = iso(nowMs - 10_000).slice(0, 19);
      return [`${second}.123002Z`, `${second}.123001Z`];
    },
  }),
  "order.offsets": order({
    title: "orders times with different zone offsets",
    sent: "task.completed, then an earlier task.running whose occurredAt is written with the offset +14:00",
    fix: `${guard} Compare instants, not texts: the same moment can be written in many ways.`,
    times(nowMs) {
      const fourteenHoursMs = 14 * 3_600_000;
      return [iso(nowMs - 10_000), iso(nowMs - 60_000 + fourteenHoursMs).replace("Z", "+14:00")];
    },
  }),
};
