// Deliveries that reach their inbox through RabbitMQ: intakes publish to a simulated broker, consumers store. Invariants:
// what an intake has accepted is in the broker or in the inbox at every moment, and takes effect once; no state moves back.

import { createVirtualClock } from "@workspace-tasks/mock-server";
import { createReceiver } from "@workspace-tasks/receiver-kit";
import { createConsumer } from "../../../receiver-kit/rabbitmq/rabbitmq-consumer.ts";
import { createIntake } from "../../../receiver-kit/rabbitmq/rabbitmq-intake.ts";
import { memoryInbox } from "../../support/inbox-stores.ts";
import { completedEvent, sampleEvent } from "../../support/sample-event.ts";
import { secretA } from "../../support/signed-delivery.ts";
import { overrideInbox } from "../../support/wrap-inbox.ts";
import { createRandom } from "./random.ts";
import { type BrokerFault, createBroker } from "./simulated-broker.ts";

export interface BrokerReport {
  readonly violation: string | undefined;
  readonly accepted: number;
  readonly faults: Readonly<Record<BrokerFault, number>>;
}

const product = { createConsumer, createIntake };
export type RabbitmqKit = typeof product;

const taskCount = 6;
const copiesMax = 3;
const silent = { info() {}, warn() {}, error() {} };

export async function runBrokerSimulation(
  seed: number,
  patched: Partial<RabbitmqKit> = {},
): Promise<BrokerReport> {
  const kit = { ...product, ...patched };
  const random = createRandom(seed, "broker");
  const clock = createVirtualClock(Date.UTC(2026, 5, 1));
  const broker = createBroker(clock, random.stream("faults"));
  const inbox = memoryInbox({ clock });
  const inboxRandom = random.stream("inbox");
  const unreliable = overrideInbox(inbox, {
    insert: (row) =>
      inboxRandom.happens(inboxFails) ? Promise.reject(new Error("connection lost")) : inbox.insert(row),
  });
  let inboxFails = 0.1;
  const effects = new Map<string, number>();
  const states = new Map<string, string>();
  let violation: string | undefined;
  const check = (holds: boolean, message: string) => {
    if (!holds) violation ??= message;
  };

  const shared = {
    ...{ urls: ["amqp://broker.example"], partitions: 2, logger: silent, clock },
    random: random.stream("kit").number,
  };
  const receiver = createReceiver({
    secrets: [secretA],
    inbox: unreliable,
    clock,
    logger: silent,
    random: () => 0.5,
  });
  receiver.on("*", (_, { id, transaction }) => {
    transaction.apply(() => effects.set(id, (effects.get(id) ?? 0) + 1));
  });
  receiver.onState("task", ({ taskId, occurredAt }, { transaction }) => {
    transaction.apply(() => {
      check((states.get(taskId) ?? "") < occurredAt, `I3: ${taskId} moved back to ${occurredAt}`);
      states.set(taskId, occurredAt);
    });
  });
  await receiver.start();
  const intakes = [0, 1].map(() => kit.createIntake({ ...shared, secrets: [secretA] }, broker.connect));
  const consumers = [0, 1].map(() =>
    kit.createConsumer({ ...shared, receivers: [receiver] }, broker.connect),
  );
  for (const part of [...intakes, ...consumers]) void part.start();
  await clock.advance(60_000);

  const bodies = new Map<string, string>();
  const accepted = new Set<string>();
  /** Sends a delivery until it is accepted, and some again. */
  const send = async (id: string, body: string, copies: number): Promise<void> => {
    const intake = random.sample(intakes)!;
    const webhook = {
      id,
      timestamp: Math.floor(clock.now() / 1_000),
      body: Buffer.from(body),
      secretIndex: 0,
    };
    const isAccepted = await intake.accept(webhook).then(
      () => true,
      () => false,
    );
    if (isAccepted) accepted.add(id);
    if (isAccepted && copies <= 1) return;
    await new Promise<void>((resolve) => clock.schedule(random.integer(100, 30_000), resolve));
    return send(id, body, isAccepted ? copies - 1 : copies);
  };
  const sending: Promise<void>[] = [];
  for (let task = 1; task <= taskCount; task++) {
    for (const [order, create] of [sampleEvent, completedEvent].entries()) {
      const id = `msg-${task}-${order}`;
      const event = create({ id, taskId: `task-${task}`, occurredAt: `2026-05-01T00:00:0${order}.000Z` });
      bodies.set(id, JSON.stringify(event));
      sending.push(send(id, JSON.stringify(event), random.integer(1, copiesMax)));
    }
    await clock.advance(random.integer(0, 20_000));
    if (random.happens(0.3)) broker.failOver();
    await checkAccepted();
  }
  broker.disableFaults();
  inboxFails = 0;
  for (let minutes = 0; minutes < 20; minutes++) {
    await clock.advance(60_000);
    await checkAccepted();
  }
  check(accepted.size === bodies.size, `I6: ${bodies.size - accepted.size} deliveries were never accepted`);
  for (const id of accepted)
    check(effects.get(id) === 1, `I4: ${id} took effect ${effects.get(id) ?? 0} times`);
  const closing = [...consumers, ...intakes, receiver].map((part) => part.close({ graceMs: 1_000 }));
  await clock.advance(30_000);
  await Promise.all(closing);
  await Promise.allSettled(sending);
  return { violation, accepted: accepted.size, faults: broker.faults };

  async function checkAccepted(): Promise<void> {
    const inBroker = new Set(broker.bodies());
    for (const id of accepted) {
      const isStored =
        inBroker.has(bodies.get(id) ?? "") || (await inbox.get({ source: "default", id })) !== undefined;
      check(isStored, `I1: ${id} was accepted and is neither in the broker nor in the inbox`);
    }
  }
}
