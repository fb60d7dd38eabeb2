// The intake and the consumer on a real broker, which all tests of this file share: each has queues of its own.
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import * as kit from "@workspace-tasks/receiver-kit";
import * as rabbitmq from "@workspace-tasks/receiver-rabbitmq";
import { connect } from "amqplib";
import { afterAll, beforeAll, type ExpectStatic, it } from "vitest";
import { runRabbitmqCommand } from "../../../receiver-kit/rabbitmq/cli/unpark.ts";
import { createFreezingProxy } from "../../support/freezing-proxy.ts";
import { freePort } from "../../support/listen.ts";
import { packageEnvironment } from "../../support/package-flags.ts";
import { RunningProgram } from "../../support/running-program.ts";
import { sampleEvent } from "../../support/sample-event.ts";
import { sharedPostgres, sharedRabbitmqUrl } from "../../support/shared-server.ts";
import { secretA, signDelivery } from "../../support/signed-delivery.ts";
import { hasPostgres } from "../../support/with-postgres.ts";
import { describeWithRabbitmq } from "../../support/with-rabbitmq.ts";

let url: string;
let names = 0;
/** The tests run at the same time: they mostly wait. */
const closings: (() => unknown)[] = [];
const onEnd = (close: () => unknown) => void closings.push(close);
afterAll(async () => {
  for (const close of closings.reverse()) await close();
});

type Topology = Omit<rabbitmq.RabbitmqIntakeOptions, "secrets"> & { readonly name: string };

const createTopology = (fields: Partial<Topology> = {}): Topology => {
  names += 1;
  const name = `test-${process.pid}-${names}`;
  return { partitions: 2, logger: kit.silentLogger, ...fields, urls: fields.urls ?? [url], name };
};

async function startIntake(topology: Topology, fields: Partial<rabbitmq.RabbitmqIntakeOptions> = {}) {
  const intake = rabbitmq.rabbitmqIntake({ ...topology, secrets: [secretA], ...fields });
  onEnd(() => intake.close({ graceMs: 0 }));
  await intake.start();
  return intake;
}

async function startConsumer(
  topology: Topology,
  receivers: readonly rabbitmq.ShardReceiver[],
  fields: Partial<rabbitmq.RabbitmqConsumerOptions> = {},
) {
  const consumer = rabbitmq.rabbitmqConsumer({ ...topology, receivers, ...fields });
  onEnd(() => consumer.close({ graceMs: 0 }));
  await consumer.start();
  return consumer;
}

/** A delivery of an event of a task, as the service sends it. */
function requestOf(taskId: string, id: string, fields: Readonly<Record<string, unknown>> = {}): Request {
  const body = JSON.stringify(sampleEvent({ taskId, ...fields }));
  const delivery = signDelivery({ id, body, timestampSeconds: Math.floor(Date.now() / 1000) });
  return new Request("http://localhost/webhooks", { method: "POST", headers: delivery.headers, body });
}

/** A receiver of one shard, and the ids of what it handled. */
async function startReceiver() {
  const handled: string[] = [];
  const receiver: kit.Receiver<kit.MemoryTransaction> = kit.createReceiver({
    secrets: [secretA],
    inbox: kit.memoryInbox(),
    logger: kit.silentLogger,
  });
  receiver.on("task.*", async (_event, { id }) => {
    handled.push(id);
  });
  onEnd(() => receiver.close());
  await receiver.start();
  return { receiver, handled };
}

/** A receiver that stores ids in memory, or fails as `failing` says. */
function createStore(failing: (id: string) => boolean = () => false) {
  const stored: string[] = [];
  const receiver: rabbitmq.ShardReceiver = {
    async accept({ id }) {
      if (failing(id)) throw new Error("the inbox is unavailable");
      stored.push(id);
      return { outcome: "accepted" };
    },
  };
  return { receiver, stored };
}

/** What the command prints. */
async function unpark(argv: readonly string[]): Promise<string> {
  let text = "";
  const stdout = { write: (written: string) => (text += written) };
  const stop = new AbortController().signal;
  await runRabbitmqCommand(argv, {
    program: "workspace-tasks-rabbitmq",
    stdout,
    stderr: stdout,
    env: {},
    stop,
  });
  return text;
}

/** Tests wait for a broker that may be busy. */
const poll = <Value>(expect: ExpectStatic, read: () => Value, options: { interval?: number } = {}) =>
  expect.poll(read, { timeout: 20_000, ...options });

const ids = (count: number) => Array.from({ length: count }, (_, index) => `m${index}`);

describeWithRabbitmq("receivers behind RabbitMQ", () => {
  beforeAll(async () => {
    url = await sharedRabbitmqUrl();
  }, 300_000);

  it.concurrent("receivers behind RabbitMQ handle every delivery once, each task in one shard, and respond 200 after the publisher confirm", async ({
    expect,
  }) => {
    const topology = createTopology({ shards: 2 });
    const intake = await startIntake(topology);
    const shards = [await startReceiver(), await startReceiver()] as const;
    const consumer = await startConsumer(topology, [shards[0].receiver, shards[1].receiver]);
    const sent = ids(60).map((id, index) => ({ id, task: `task-${index % 20}` }));
    const responses = await Promise.all(sent.map(({ id, task }) => intake.fetch(requestOf(task, id))));
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200]));
    const repeated = sent[0]!;
    expect((await intake.fetch(requestOf(repeated.task, repeated.id))).status).toBe(200);
    await poll(expect, () => consumer.stats().messages.stored).toBe(61);
    await poll(expect, () => shards[0].handled.length + shards[1].handled.length).toBe(60);
    for (const shard of [0, 1] as const) {
      const expected = sent.filter(({ task }) => rabbitmq.shardOf(task, 2) === shard).map(({ id }) => id);
      expect(shards[shard].handled.toSorted()).toEqual(expected.toSorted());
    }
    expect(intake.stats()).toMatchObject({
      published: { confirmed: 61, returned: 0, nacked: 0 },
      inFlight: { messages: 0, bytes: 0 },
      failingForMs: null,
    });
    const { messages, queues } = consumer.stats();
    expect(messages).toMatchObject({ failed: 0, parked: 0 });
    expect(queues.map(({ waiting }) => waiting)).toEqual([0, 0, 0, 0]);
  });

  it.concurrent("deliveries are handled in the order of their task after the inbox was unavailable, and nothing is redelivered meanwhile", async ({
    expect,
  }) => {
    const topology = createTopology();
    const intake = await startIntake(topology);
    let isDown = true;
    const { receiver, stored } = createStore(() => isDown);
    const consumer = await startConsumer(topology, [receiver]);
    for (const id of ids(20)) expect((await intake.fetch(requestOf("task-1", id))).status).toBe(200);
    await poll(expect, () => consumer.stats().messages.failed).toBeGreaterThan(20);
    await poll(expect, () => consumer.stats().messages.delivered).toBe(20);
    expect(consumer.stats().messages).toMatchObject({ redelivered: 0, stored: 0 });
    isDown = false;
    await poll(expect, () => stored).toEqual(ids(20));
  });

  it.concurrent("consumers park a delivery that alone cannot be stored, and what is no delivery, and block nothing", async ({
    expect,
  }) => {
    const topology = createTopology({ partitions: 1 });
    const intake = await startIntake(topology);
    const { receiver, stored } = createStore((id) => id === "bad");
    const consumer = await startConsumer(topology, [receiver]);
    await intake.fetch(requestOf("task-1", "bad"));
    const foreign = await connect(url);
    onEnd(() => foreign.close());
    const channel = await foreign.createConfirmChannel();
    channel.publish(`${topology.name}.v1.s0of1`, "any", Buffer.from("not a delivery"));
    await channel.waitForConfirms();
    let sent = 0;
    await poll(
      expect,
      async () => {
        await intake.fetch(requestOf(`task-${sent}`, `good-${sent}`));
        sent += 1;
        return consumer.stats().messages.parked;
      },
      { interval: 50 },
    ).toBe(2);
    await poll(expect, () => stored.length).toBe(sent);
    const parked = await channel.get(`${topology.name}.parked`, { noAck: true });
    expect(parked || undefined).toMatchObject({
      properties: { headers: { "parked-from": `${topology.name}.v1.s0of1.p0` } },
    });
  });

  it.concurrent("as many undeliverable messages as the prefetch, at the head of a queue, block nothing behind them", async ({
    expect,
  }) => {
    const topology = createTopology({ partitions: 1 });
    const intake = await startIntake(topology);
    const { receiver, stored } = createStore((id) => id.startsWith("unknown"));
    const operator = await connect(url);
    onEnd(() => operator.close());
    const channel = await operator.createConfirmChannel();
    const exchange = `${topology.name}.v1.s0of1`;
    for (const id of ids(256)) await intake.fetch(requestOf(id, `unknown-${id}`));
    for (const id of ids(16)) channel.publish(exchange, id, Buffer.from("{}"), { messageId: id });
    await channel.waitForConfirms();
    for (const id of ids(20)) await intake.fetch(requestOf(id, id));
    const consumer = await startConsumer(topology, [receiver]);
    await expect.poll(() => stored.toSorted(), { timeout: 60_000 }).toEqual(ids(20).toSorted());
    await poll(expect, () => consumer.stats().messages.parked).toBeGreaterThanOrEqual(16);
  });

  it.concurrent("parked deliveries of two shards are moved back to their own, also those in a queue of another one", async ({
    expect,
  }) => {
    const topology = createTopology({ shards: 2, partitions: 1 });
    const intake = await startIntake(topology);
    let isRepaired = false;
    const dataError = Object.assign(new Error("disk quota"), { code: "22021" });
    const shards = [0, 1].map(() => {
      const stored: string[] = [];
      const accept: rabbitmq.ShardReceiver["accept"] = async ({ id }) => {
        if (!isRepaired) throw new kit.ReceiverError("INBOX_UNAVAILABLE", "not now", { cause: dataError });
        stored.push(id);
        return { outcome: "accepted" };
      };
      return { stored, receiver: { accept } };
    });
    const consumer = await startConsumer(
      topology,
      shards.map(({ receiver }) => receiver),
    );
    for (const id of ids(20)) await intake.fetch(requestOf(id, id));
    await poll(expect, () => consumer.stats().messages.parked).toBe(20);
    const operator = await connect(url);
    onEnd(() => operator.close());
    const channel = await operator.createConfirmChannel();
    const parking = `${topology.name}.parked`;
    // One is moved by hand, to the wrong shard.
    const parked = await channel.get(parking, { noAck: true });
    if (!parked) throw new Error("nothing is parked");
    expect(parked.properties.headers?.["parked-because"]).toBe("not now: disk quota (22021)");
    const own = rabbitmq.shardOf(String(parked.properties.messageId), 2);
    isRepaired = true;
    channel.sendToQueue(`${topology.name}.v1.s${1 - own}of2.p0`, parked.content, parked.properties);
    await poll(expect, () => consumer.stats().messages.parked).toBe(21);
    const argv = ["unpark", "--url", url, "--name", topology.name, "--shards", "2"];
    expect(await unpark([...argv, "--because", "another reason"])).toBe("20 left\n");
    expect(await unpark([...argv, "--dry-run"])).toMatch(/would be moved; 0 left/);
    const foreign = ["--because", `it belongs to shard ${own} of 2`];
    expect(await unpark([...argv, ...foreign])).toBe(`1 to ${topology.name}.v1.s${own}of2\n19 left\n`);
    const from = ["--from", `${topology.name}.v1.s0of2.p0`];
    expect(await unpark([...argv, ...from])).toMatch(/^\d+ to \S+s0of2\n\d+ left\n$/);
    expect(await unpark(argv)).toMatch(/^\d+ to \S+s1of2\n0 left\n$/);
    for (const shard of [0, 1] as const) {
      const expected = ids(20).filter((id) => rabbitmq.shardOf(id, 2) === shard);
      await poll(expect, () => shards[shard]?.stored.toSorted()).toEqual(expected.toSorted());
    }
  });

  it.concurrent("a consumer refuses inboxes in another order, one for two shards, and another number of shards", async ({
    expect,
  }) => {
    const inboxes = [kit.memoryInbox(), kit.memoryInbox()];
    const receiverOf = (inbox: kit.Inbox<kit.MemoryTransaction>) =>
      kit.createReceiver({ secrets: [secretA], inbox, logger: kit.silentLogger });
    const [first, second] = inboxes.map(receiverOf) as [kit.Receiver<unknown>, kit.Receiver<unknown>];
    const topology = createTopology({ shards: 2 });
    await startConsumer(topology, [first, second]);
    await startConsumer(topology, [first, second]);
    const invalid = (message: RegExp) => ({
      code: "CONFIGURATION_INVALID",
      message: expect.stringMatching(message),
    });
    await expect(startConsumer(topology, [second, first])).rejects.toMatchObject(
      invalid(/holds shard 1 of 2/),
    );
    const three = { ...topology, shards: 3 };
    const third = receiverOf(kit.memoryInbox());
    await expect(startConsumer(three, [first, second, third])).rejects.toMatchObject(invalid(/0 of 3/));
    const only = receiverOf(kit.memoryInbox());
    await expect(startConsumer(createTopology({ shards: 2 }), [only, only])).rejects.toMatchObject(
      invalid(/holds shard 0 of 2 and not 1 of 2/),
    );
  });

  it.concurrent("start() tells a broker that rejects from one that is down", async ({ expect }) => {
    const wrong = (change: (target: URL) => void) => {
      const target = new URL(url);
      change(target);
      return createTopology({ urls: [target.href] });
    };
    const password = wrong((target) => {
      target.password = "wrong";
    });
    const vhost = wrong((target) => {
      target.pathname = "/missing";
    });
    for (const [topology, message] of [
      [password, /correct the user and the password/],
      [vhost, /create the virtual host/],
    ] as const) {
      const rejected = { code: "BROKER_SETUP_INVALID", message: expect.stringMatching(message) };
      await expect(startIntake(topology)).rejects.toMatchObject(rejected);
      await expect(startConsumer(topology, [createStore().receiver])).rejects.toMatchObject(rejected);
    }
    const down = wrong((target) => {
      target.port = "1";
    });
    expect((await startIntake(down)).stats().connection.node).toBeNull();
    await startConsumer(down, [createStore().receiver]);
  });

  it.concurrent("what is deleted under load is declared again, and each queue is consumed", async ({
    expect,
  }) => {
    const topology = createTopology({ shards: 2 });
    const intake = await startIntake(topology);
    const stores = [createStore(), createStore()] as const;
    const consumer = await startConsumer(topology, [stores[0].receiver, stores[1].receiver]);
    const operator = await connect(url);
    onEnd(() => operator.close());
    const sent: string[] = [];
    const send = async (id: string) => {
      await poll(expect, async () => (await intake.fetch(requestOf(id, id))).status).toBe(200);
      sent.push(id);
    };
    const exchange = `${topology.name}.v1.s0of2`;
    const channel = await operator.createChannel();
    for (const [round, remove] of [
      () => channel.deleteQueue(`${exchange}.p0`),
      () => channel.deleteExchange(exchange),
      () => channel.deleteQueue(`${topology.name}.parked`),
    ].entries()) {
      await poll(expect, () => stores.flatMap(({ stored }) => stored).length).toBe(sent.length);
      await remove();
      for (const id of ids(20)) await send(`${round}-${id}`);
    }
    await poll(expect, () => stores.flatMap(({ stored }) => stored).toSorted()).toEqual(sent.toSorted());
    await poll(expect, () => consumer.stats().queues.every(({ isConsuming }) => isConsuming)).toBe(true);
  });

  it.concurrent("two consumers store what is in the queues of both versions, after the number of partitions was changed", async ({
    expect,
  }) => {
    const topology = createTopology();
    const before = await startIntake(topology);
    for (const id of ids(10)) await before.fetch(requestOf(`task-${id}`, id));
    const changed = { ...topology, version: 2, partitions: 3, queueBytesMax: 1_000_000 };
    const after = await startIntake(changed);
    await after.fetch(requestOf("task-1", "new"));
    const { receiver, stored } = createStore();
    await startConsumer(topology, [receiver]);
    await startConsumer(changed, [receiver]);
    await poll(expect, () => stored.toSorted()).toEqual([...ids(10), "new"].toSorted());
  });

  it.concurrent("an intake names the remedy when a queue exists with other arguments", async ({ expect }) => {
    const topology = createTopology();
    await startIntake(topology);
    const other = rabbitmq.rabbitmqIntake({ ...topology, secrets: [secretA], queueBytesMax: 5_000_000 });
    onEnd(() => other.close());
    await expect(other.start()).rejects.toMatchObject({
      code: "BROKER_SETUP_INVALID",
      message: expect.stringMatching(/\.v1\.s0of1\.p0: it exists with other arguments.*raise version/),
    });
  });

  it.concurrent("an intake responds 503 when the queue is full, when no queue takes a delivery, and when the topology is missing", async ({
    expect,
  }) => {
    const topology = createTopology({ partitions: 1, queueBytesMax: 5_000 });
    const intake = await startIntake(topology);
    const statuses: number[] = [];
    for (const id of ids(40)) statuses.push((await intake.fetch(requestOf("task-1", id))).status);
    expect(new Set(statuses)).toEqual(new Set([200, 503]));
    expect(intake.stats().published.nacked).toBeGreaterThan(0);
    const operator = await connect(url);
    await (await operator.createChannel()).deleteQueue(`${topology.name}.v1.s0of1.p0`);
    await operator.close();
    const response = await intake.fetch(requestOf("task-1", "unroutable"));
    expect(response.status).toBe(503);
    expect(response.headers.get("retry-after")).toBe("5");
    expect(intake.stats().published.returned).toBe(1);
    // The queue is declared again.
    await poll(expect, async () => (await intake.fetch(requestOf("task-1", "unroutable"))).status).toBe(200);
    const missing = rabbitmq.rabbitmqIntake({ ...createTopology(), secrets: [secretA], declare: false });
    onEnd(() => missing.close());
    await expect(missing.start()).rejects.toMatchObject({ code: "BROKER_SETUP_INVALID" });
  });

  it.concurrent("an intake responds 503 within the time limit while the link is silent, and reconnect by themselves", async ({
    expect,
  }) => {
    await using proxy = await createFreezingProxy(Number(new URL(url).port));
    const topology = createTopology({
      urls: [`amqp://guest:guest@127.0.0.1:${proxy.port}`],
      heartbeatSeconds: 1,
      operationTimeoutMs: 5_000,
    });
    const intake = await startIntake(topology);
    const { receiver, stored } = createStore();
    const consumer = await startConsumer(topology, [receiver]);
    expect((await intake.fetch(requestOf("task-1", "before"))).status).toBe(200);
    proxy.freezeAll();
    expect((await intake.fetch(requestOf("task-1", "during"))).status).toBe(503);
    await poll(expect, () => intake.stats().connection.lost).toBe(1);
    const { unsent } = intake.stats().published;
    expect((await intake.fetch(requestOf("task-1", "later"))).status).toBe(503);
    // It did not wait for a confirm.
    expect(intake.stats().published.unsent).toBe(unsent + 1);
    await poll(expect, () => consumer.stats().connection.lost).toBe(1);
    proxy.heal();
    await poll(expect, async () => (await intake.fetch(requestOf("task-1", "after"))).status).toBe(200);
    await poll(expect, () => stored).toContain("after");
    expect(stored).toContain("before");
  });

  it.skipIf(!hasPostgres).concurrent(
    "the example receiver-rabbitmq handles deliveries and exits with 0 on SIGTERM",
    async ({ expect }) => {
      await using database = await (await sharedPostgres()).database();
      const port = await freePort();
      using example = new RunningProgram(
        [fileURLToPath(new URL("../../../examples/run.mjs", import.meta.url)), "receiver-rabbitmq"],
        {
          env: {
            ...packageEnvironment,
            RABBITMQ_URLS: url,
            DATABASE_URL: database.url,
            PORT: String(port),
            WORKSPACE_TASKS_SIGNING_SECRET: secretA,
          },
        },
      );
      await example.said(/ready for webhooks/);
      const tasks = ids(20);
      for (const task of tasks) {
        const request = requestOf(task, `delivery-${task}`);
        const { status } = await fetch(`http://127.0.0.1:${port}/webhooks`, {
          method: "POST",
          headers: request.headers,
          body: await request.text(),
        });
        expect(status).toBe(200);
      }
      const pool = database.pool();
      const rows = async (table: string) => (await pool.query(`SELECT * FROM ${table}`)).rows;
      await poll(expect, () => rows("task_states")).toHaveLength(20);
      const [first, second] = [await rows("shard0.deliveries"), await rows("shard1.deliveries")];
      expect(Math.min(first.length, second.length)).toBeGreaterThan(0);
      expect(first.length + second.length).toBe(20);
      example.signal("SIGTERM");
      expect(await example.ended()).toMatchObject({ code: 0 });
    },
  );

  it.concurrent("consumers finish the batch in progress when the consumer closes", async ({ expect }) => {
    const topology = createTopology({ partitions: 1 });
    const intake = await startIntake(topology);
    let isAccepting = false;
    const stored: string[] = [];
    const slow: rabbitmq.ShardReceiver = {
      async accept({ id }) {
        isAccepting = true;
        await pause(200);
        stored.push(id);
        return { outcome: "accepted" };
      },
    };
    const consumer = await startConsumer(topology, [slow]);
    await intake.fetch(requestOf("task-1", "m0"));
    await poll(expect, () => isAccepting).toBe(true);
    await consumer.close();
    expect(stored).toEqual(["m0"]);
    const again = createStore();
    await startConsumer(topology, [again.receiver]);
    await intake.fetch(requestOf("task-1", "m1"));
    await poll(expect, () => again.stored).toEqual(["m1"]);
  });
});
