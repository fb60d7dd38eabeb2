import type { VerifiedWebhook } from "@workspace-tasks/receiver-kit";
import { describe, expect, it } from "vitest";
import { createIntake } from "../../../../receiver-kit/rabbitmq/rabbitmq-intake.ts";
import { FakeAmqp } from "../../../support/fake-amqp.ts";
import { createFixtureClock } from "../../../support/receiver-fixture.ts";
import { secretA } from "../../../support/signed-delivery.ts";

async function createFixture() {
  const amqp = new FakeAmqp();
  const clock = createFixtureClock();
  const lines: string[] = [];
  const note = (_: object, message: string) => void lines.push(message);
  const options = {
    ...{ urls: ["amqp://one"], operationTimeoutMs: 2_000 },
    ...{ secrets: [secretA], clock, random: () => 0.5 },
    logger: { info() {}, warn: note, error: note },
  };
  const intake = createIntake(options, amqp.connect);
  await intake.start();
  /** Publishes a delivery; the promise for its end is handled already. */
  const publish = async (id: string) => {
    const end = intake.accept(webhookOf(id)).catch((error: unknown) => error);
    await turn();
    return { end, published: amqp.latest.publishes.at(-1) };
  };
  return { amqp, clock, intake, publish, lines };
}

const webhookOf = (id: string, body = `{"taskId":"task-${id}"}`): VerifiedWebhook => ({
  ...{ id, timestamp: 1_772_357_400, secretIndex: 0 },
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

  it("publishes a persistent and mandatory message with the task's id as routing key", async () => {
    const { amqp, intake } = await createFixture();
    const accepted = intake.accept(webhookOf("a"), { traceparent: "00-trace" });
    await turn();
    const [published] = amqp.latest.publishes;
    expect(published).toMatchObject({ exchange: "workspace-tasks.v1.s0of1", key: "task-a" });
    expect(published?.options).toMatchObject({
      ...{ persistent: true, mandatory: true, messageId: "a", appId: "default" },
      headers: { "secret-index": 0, traceparent: "00-trace" },
    });
    published?.confirm();
    expect(await accepted).toEqual({ outcome: "accepted" });
  });

  it("publishes with a routing key of at most 80 characters", async () => {
    const { amqp, publish } = await createFixture();
    await publish("x".repeat(300));
    expect(amqp.latest.publishes[0]?.key).toBe(`task-${"x".repeat(75)}`);
  });

  it("counts a confirm once that the broker repeats", async () => {
    const { amqp, intake } = await createFixture();
    const accepted = intake.accept(webhookOf("a"));
    await turn();
    for (let times = 0; times < 3; times++) amqp.latest.publishes[0]?.confirm();
    await accepted;
    expect(intake.stats()).toMatchObject({
      published: { confirmed: 1 },
      inFlight: { messages: 0, bytes: 0 },
    });
  });

  it("rejects a delivery that is returned, although its confirm follows", async () => {
    const { amqp, intake, publish } = await createFixture();
    const rejected = await publish("a");
    amqp.latest.publishes[0]?.giveBack();
    amqp.latest.publishes[0]?.confirm();
    expect(await rejected.end).toMatchObject(unavailable(/no queue takes/));
    expect(intake.stats().published).toMatchObject({ returned: 1, confirmed: 0 });
  });

  it("rejects a delivery that the queue rejects", async () => {
    const { amqp, intake, publish } = await createFixture();
    const rejected = await publish("a");
    amqp.latest.publishes[0]?.confirm(new Error("message nacked"));
    expect(await rejected.end).toMatchObject(unavailable(/rejected/));
    expect(intake.stats().published.nacked).toBe(1);
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
      ...{ published: { timedOut: 1, interrupted: 0 }, inFlight: { messages: 0 } },
      connection: { state: "ready", lost: 1 },
    });
  });

  it("keeps a connection that confirms later deliveries", async () => {
    const { amqp, clock, intake, publish } = await createFixture();
    const rejected = expect(intake.accept(webhookOf("a"))).rejects.toThrow();
    await turn();
    await clock.advance(2_500);
    const accepted = await publish("b");
    accepted.published?.confirm();
    expect(await accepted.end).toEqual({ outcome: "accepted" });
    await clock.advance(2_500);
    await rejected;
    expect(amqp.connections).toHaveLength(1);
    // It counts until the broker settles it.
    expect(intake.stats().inFlight.messages).toBe(1);
    amqp.latest.publishes[0]?.confirm();
    expect(intake.stats().inFlight.messages).toBe(0);
  });

  it("rejects what is in flight when the connection is lost, also when the client forgets it", async () => {
    const { amqp, clock, intake, publish } = await createFixture();
    await clock.advance(2_000);
    const rejected = await publish("a");
    amqp.latest.emit("error", new Error("ECONNRESET"));
    expect(await rejected.end).toMatchObject(unavailable(/connection was lost/));
    expect(intake.stats()).toMatchObject({ published: { interrupted: 1 }, inFlight: { messages: 0 } });
    await clock.advance(100);
    const accepted = await publish("b");
    accepted.published?.confirm();
    expect(await accepted.end).toEqual({ outcome: "accepted" });
  });

  it("rejects deliveries at once while the broker blocks the connection, which stays open", async () => {
    const { amqp, clock, intake, publish } = await createFixture();
    amqp.latest.emit("blocked", "low on memory");
    await expect(intake.accept(webhookOf("a"))).rejects.toMatchObject(unavailable(/short of resources/));
    await clock.advance(60_000);
    expect(intake.stats().connection.blockedForMs).toBe(60_000);
    amqp.latest.emit("unblocked");
    const accepted = await publish("b");
    accepted.published?.confirm();
    expect(await accepted.end).toEqual({ outcome: "accepted" });
    expect(amqp.connections).toHaveLength(1);
  });

  it("rejects deliveries at once when too many, or too many bytes, have no confirm", async () => {
    const { amqp, intake } = await createFixture();
    const large = "x".repeat(67_108_864);
    const first = intake.accept(webhookOf("a", large));
    await expect(intake.accept(webhookOf("b"))).rejects.toMatchObject(unavailable(/too many/));
    await turn();
    amqp.latest.publishes[0]?.confirm();
    await first;
    const others = Array.from({ length: 1_024 }, (_, n) => intake.accept(webhookOf(`c${n}`)));
    await expect(intake.accept(webhookOf("e"))).rejects.toMatchObject(unavailable(/too many/));
    await turn();
    for (const { confirm } of amqp.latest.publishes) confirm();
    await Promise.all(others);
    expect(intake.stats().published).toMatchObject({ confirmed: 1_025, unsent: 2 });
  });

  it("waits a moment for a connection that was just lost, and for none that is due later", async () => {
    const { amqp, clock, intake } = await createFixture();
    let isDown = true;
    amqp.onConnect = async () => {
      if (isDown) throw new Error("ECONNREFUSED");
    };
    await clock.advance(5_000);
    amqp.latest.emit("close");
    await turn();
    const waiting = expect(intake.accept(webhookOf("a"))).rejects.toMatchObject(unavailable(/no connection/));
    await clock.advance(100);
    await waiting;
    await expect(intake.accept(webhookOf("b"))).rejects.toMatchObject(unavailable(/no connection/));
    isDown = false;
    await clock.advance(10_000);
    expect(intake.stats().connection.state).toBe("ready");
  });

  it("counts how long nothing can be published, in few lines, and says when it is over", async () => {
    const { amqp, clock, intake, publish, lines } = await createFixture();
    expect(lines).toEqual([
      expect.stringMatching(/^replicas is more than the nodes in urls.*rabbitmq-queues grow/),
    ]);
    amqp.onConnect = async () => {
      throw new Error("ECONNREFUSED");
    };
    amqp.latest.emit("close");
    for (let n = 0; n < 70; n++) {
      await clock.advance(1_000);
      await expect(intake.accept(webhookOf(`a${n}`))).rejects.toMatchObject(unavailable(/no connection/));
    }
    // The documented alert is at 60,000.
    expect(intake.stats().failingForMs).toBeGreaterThan(60_000);
    expect(lines.length).toBeLessThan(10);
    amqp.onConnect = async () => {};
    await clock.advance(60_000);
    const accepted = await publish("b");
    accepted.published?.confirm();
    await accepted.end;
    expect(intake.stats().failingForMs).toBeNull();
    expect(lines.at(-1)).toMatch(/^no longer: deliveries cannot be published/);
  });

  it("waits for confirms when it closes, and rejects later deliveries", async () => {
    const { amqp, intake } = await createFixture();
    const accepted = intake.accept(webhookOf("a"));
    await turn();
    const closed = intake.close();
    await expect(intake.accept(webhookOf("b"))).rejects.toMatchObject(unavailable(/closing/));
    amqp.latest.publishes[0]?.confirm();
    expect(await accepted).toEqual({ outcome: "accepted" });
    await closed;
    expect(intake.stats().connection.state).toBe("closed");
  });
});
