import type { VerifiedWebhook } from "@workspace-tasks/receiver-kit";
import { describe, expect, it } from "vitest";
import { createIntake } from "../../../../receiver-kit/rabbitmq/rabbitmq-intake.ts";
import { createFixtureClock } from "../../../support/receiver-fixture.ts";
import { secretA } from "../../../support/signed-delivery.ts";
import { FakeAmqp, type FakePublish } from "./fake-amqp.ts";

async function createFixture() {
  const amqp = new FakeAmqp();
  const clock = createFixtureClock();
  const lines: string[] = [];
  const note = (_: object, message: string) => void lines.push(message);
  const options = {
    urls: ["amqp://one"],
    operationTimeoutMs: 2_000,
    secrets: [secretA],
    clock,
    random: () => 0.5,
    logger: { info() {}, warn: note, error: note },
  };
  const intake = createIntake(options, amqp.connect);
  await intake.start();
  await clock.advance(5_000);
  /** Publishes a delivery; the promise for its end is handled already. */
  const publish = async (id: string, body?: string) => {
    const end = intake.accept(webhookOf(id, body)).catch((error: unknown) => error);
    await turn();
    return { end, published: amqp.latest.publishes.at(-1) as FakePublish };
  };
  const isAccepting = async () => {
    const { end, published } = await publish("one-more");
    published.confirm();
    expect(await end).toEqual({ outcome: "accepted" });
  };
  return { amqp, clock, intake, isAccepting, publish, lines };
}

const webhookOf = (id: string, body = `{"taskId":"task-${id}"}`): VerifiedWebhook => ({
  id,
  timestamp: 1_772_357_400,
  secretIndex: 0,
  body: Buffer.from(body),
});

/** Lets what is due now happen. */
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

const unavailable = (message: RegExp) => ({
  code: "BROKER_UNAVAILABLE",
  message: expect.stringMatching(message),
});

describe("rabbitmqIntake", () => {
  it.each([
    ["amqp://user:pw@broker/", "a string"],
    [["http://user:pw@broker/"], "an array"],
    [["amqp://user:pw#1@broker/"], "an array"],
  ])("rejects the URLs %j without showing their password", (urls, got) => {
    const create = () => createIntake({ urls: urls as never, secrets: [secretA] }, new FakeAmqp().connect);
    expect(create).toThrow(
      new RegExp(`^rabbitmqIntake: urls: expected a list of amqp:// or amqps:// URLs.*, got ${got}$`),
    );
    expect(create).not.toThrow(/pw/);
  });

  it("publishes a persistent and mandatory message with the task's id, cut to 80 characters, as routing key, and counts its confirm once", async () => {
    const { intake, publish } = await createFixture();
    const { end, published } = await publish("x".repeat(300));
    expect(published).toMatchObject({
      exchange: "workspace-tasks.v1.s0of1",
      key: `task-${"x".repeat(75)}`,
      options: { persistent: true, mandatory: true, appId: "default", headers: { "secret-index": 0 } },
    });
    for (let times = 0; times < 3; times++) published.confirm();
    expect(await end).toEqual({ outcome: "accepted" });
    expect(intake.stats()).toMatchObject({
      published: { confirmed: 1 },
      inFlight: { messages: 0, bytes: 0 },
    });
  });

  it.each([
    ["returned", /no queue takes/, ({ giveBack, confirm }: FakePublish) => [giveBack(), confirm()]],
    ["nacked", /rejected/, ({ confirm }: FakePublish) => confirm(new Error("message nacked"))],
    [
      "interrupted",
      /connection was lost/,
      (_: FakePublish, amqp: FakeAmqp) => amqp.latest.emit("error", new Error("ECONNRESET")),
    ],
  ] as const)("rejects a delivery that is %s, and accepts later ones", async (count, message, act) => {
    const { amqp, clock, intake, isAccepting, publish, lines } = await createFixture();
    const { end, published } = await publish("a");
    act(published, amqp);
    expect(await end).toMatchObject(unavailable(message));
    expect(intake.stats()).toMatchObject({
      published: { [count]: 1, confirmed: 0 },
      inFlight: { messages: 0 },
    });
    expect(intake.stats().failingForMs).toBe(0);
    await clock.advance(100);
    // A connection that is open again ends it, without a delivery.
    if (count !== "nacked") expect(intake.stats().failingForMs).toBeNull();
    await isAccepting();
    expect(intake.stats().failingForMs).toBeNull();
    expect(lines.join("\n")).toMatch(/no longer: deliveries cannot be published/);
  });

  it("rejects a delivery without a confirm after the time limit, and replaces a connection that confirms nothing", async () => {
    const { amqp, clock, intake, publish } = await createFixture();
    const rejected = await publish("a");
    await clock.advance(5_000);
    expect(await rejected.end).toMatchObject(unavailable(/within 5000 ms/));
    await clock.advance(100);
    expect(amqp.connections).toHaveLength(2);
    expect(amqp.connections[0]?.isDestroyed).toBe(true);
    expect(intake.stats()).toMatchObject({
      published: { timedOut: 1, interrupted: 0 },
      inFlight: { messages: 0 },
      connection: { node: "one", lost: 1 },
    });
  });

  it("keeps a connection that confirms later deliveries", async () => {
    const { amqp, clock, intake, isAccepting, publish } = await createFixture();
    const late = await publish("a");
    await clock.advance(2_500);
    await isAccepting();
    await clock.advance(2_500);
    expect(await late.end).toMatchObject(unavailable(/within 5000 ms/));
    expect(amqp.connections).toHaveLength(1);
    // It counts until the broker settles it.
    expect(intake.stats().inFlight.messages).toBe(1);
    late.published.confirm();
    expect(intake.stats().inFlight.messages).toBe(0);
  });

  it("rejects deliveries at once while the broker blocks the connection, which stays open", async () => {
    const { amqp, clock, intake, isAccepting } = await createFixture();
    amqp.latest.emit("blocked", "low on memory");
    await expect(intake.accept(webhookOf("a"))).rejects.toMatchObject(unavailable(/short of resources/));
    await clock.advance(60_000);
    expect(intake.stats()).toMatchObject({ connection: { blockedForMs: 60_000 }, failingForMs: 60_000 });
    amqp.latest.emit("unblocked");
    expect(intake.stats()).toMatchObject({ connection: { blockedForMs: null }, failingForMs: null });
    await isAccepting();
    expect(amqp.connections).toHaveLength(1);
  });

  it("rejects deliveries at once when too many, or too many bytes, have no confirm", async () => {
    const { amqp, intake, publish } = await createFixture();
    const first = await publish("a", "x".repeat(67_108_864));
    await expect(intake.accept(webhookOf("b"))).rejects.toMatchObject(unavailable(/too many/));
    first.published.confirm();
    await first.end;
    const others = Array.from({ length: 1_024 }, (_, n) => intake.accept(webhookOf(`c${n}`)));
    await expect(intake.accept(webhookOf("e"))).rejects.toMatchObject(unavailable(/too many/));
    await turn();
    for (const { confirm } of amqp.latest.publishes) confirm();
    await Promise.all(others);
    expect(intake.stats().published).toMatchObject({ confirmed: 1_025, unsent: 2 });
  });

  it("waits a moment for a connection that was just lost, and later for none, with few lines and a number that grows until it is open, however the time of day is set", async () => {
    const { amqp, clock, intake, publish, lines } = await createFixture();
    amqp.onConnect = async () => {
      throw new Error("ECONNREFUSED");
    };
    amqp.latest.emit("close");
    await turn();
    const waiting = await publish("a");
    await clock.advance(2_000);
    expect(await waiting.end).toMatchObject(unavailable(/no connection/));
    for (let n = 0; n < 70; n++) {
      clock.setNow(clock.now() + (n % 2 === 0 ? 2 : -1) * 86_400_000);
      await clock.advance(1_000);
      await expect(intake.accept(webhookOf(`a${n}`))).rejects.toMatchObject(unavailable(/no connection/));
    }
    // The documented alert is at 60,000.
    expect(intake.stats().failingForMs).toBeGreaterThan(60_000);
    expect(intake.stats().connection.unavailableForMs).toBeGreaterThan(60_000);
    expect(intake.stats().failingForMs).toBeLessThan(120_000);
    expect(lines.length).toBeLessThan(10);
    amqp.onConnect = async () => {};
    await clock.advance(10_000);
    expect(intake.stats()).toMatchObject({ failingForMs: null, connection: { unavailableForMs: null } });
    expect(lines.at(-1)).toMatch(/^no longer: RabbitMQ is unavailable/);
  });

  it("waits for confirms when it closes, and rejects later deliveries", async () => {
    const { amqp, clock, intake, publish } = await createFixture();
    const { end, published } = await publish("a");
    const closed = intake.close();
    await expect(intake.accept(webhookOf("b"))).rejects.toMatchObject(unavailable(/closing/));
    published.confirm();
    expect(await end).toEqual({ outcome: "accepted" });
    await closed;
    await clock.advance(60_000);
    expect(amqp.connections).toHaveLength(1);
    await expect(intake.start()).rejects.toMatchObject({ code: "RECEIVER_CLOSING" });
  });
});
