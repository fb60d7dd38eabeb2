import { deferred } from "@workspace-tasks/kernel/deferred.ts";
import { describe, expect, it } from "vitest";
import { explain } from "../../../../receiver-kit/rabbitmq/amqp-client.ts";
import { IncidentLog } from "../../../../receiver-kit/rabbitmq/incident-log.ts";
import { ConsumerConnection } from "../../../../receiver-kit/rabbitmq/partition-consumer.ts";
import { createFixtureClock } from "../../../support/receiver-fixture.ts";
import { FakeAmqp } from "./fake-amqp.ts";

function createFixture(urls: readonly string[] = ["amqp://one", "amqp://two", "amqp://three"]) {
  const amqp = new FakeAmqp();
  const clock = createFixtureClock();
  const lines: string[] = [];
  const note = (_: object, message: string) => void lines.push(message);
  const log = new IncidentLog({ clock, logger: { info() {}, warn: note, error: note } });
  const settings = {
    urls,
    clock,
    log,
    connect: amqp.connect,
    random: () => 0,
    socketOptions: {},
    heartbeatSeconds: 5,
    operationTimeoutMs: 1_000,
  };
  const connection = new ConsumerConnection(settings);
  return { amqp, clock, connection, lines };
}

describe("a connection to a cluster", () => {
  it("tries the nodes in turn, then waits longer after each attempt, up to 10 s, and logs a line per minute", async () => {
    const { amqp, clock, connection, lines } = createFixture();
    amqp.onConnect = async () => {
      throw new Error("ECONNREFUSED");
    };
    const started = connection.start();
    await clock.advance(50);
    await started;
    expect(amqp.tried).toEqual(["amqp://one", "amqp://two", "amqp://three"]);
    const attemptsWithin = async (ms: number) => {
      const before = amqp.tried.length;
      await clock.advance(ms);
      return amqp.tried.length - before;
    };
    // With the least jitter: 100, 200, 400, 800 ms …, and 5 s.
    expect(await attemptsWithin(1_600)).toBe(4);
    await clock.advance(60_000);
    expect(await attemptsWithin(60_000)).toBe(12);
    expect(lines).toHaveLength(3);
    expect(lines[0]).toBe("RabbitMQ is unavailable, it is tried again: ECONNREFUSED");
    amqp.onConnect = async () => {};
    await clock.advance(5_000);
    expect(connection.stats).toMatchObject({ lost: 0, unavailableForMs: null });
    expect(lines.at(-1)).toBe("no longer: RabbitMQ is unavailable, it is tried again");
  });

  it("is replaced by one to the next node when it is lost, and not in a loop when each is lost at once", async () => {
    const { amqp, clock, connection, lines } = createFixture();
    await connection.start();
    await clock.advance(5_000);
    amqp.latest.emit("error", new Error("ECONNRESET"));
    amqp.latest.emit("close");
    await clock.advance(20);
    expect(connection.stats).toMatchObject({ node: "two", lost: 1 });
    for (let n = 0; n < 1_000; n++) {
      amqp.latest.emit("close");
      await clock.advance(100);
    }
    expect(amqp.connections.length).toBeLessThan(40);
    expect(lines.length).toBeLessThan(10);
  });

  it("gives up a node that does not respond in time, and destroys the connection that it makes later", async () => {
    const { amqp, clock, connection } = createFixture(["amqp://one"]);
    const opening = deferred();
    amqp.onConnect = () => opening.promise;
    const started = connection.start();
    await clock.advance(1_000);
    await started;
    expect(connection.error).toEqual(new Error("no response within operationTimeoutMs (1000)"));
    opening.resolve();
    await clock.advance(50);
    expect(amqp.connections[0]?.isDestroyed).toBe(true);
    expect(connection.session).toBeUndefined();
  });

  it("ends within a second, also when the broker does not respond", async () => {
    const { amqp, clock, connection } = createFixture(["amqp://one"]);
    await connection.start();
    amqp.onRequest = () => new Promise<void>(() => {});
    const stopped = connection.stop();
    await clock.advance(999);
    await stopped;
    await clock.advance(60_000);
    expect(amqp.tried).toHaveLength(1);
    expect(clock.pending().timers).toBe(0);
  });
});

it.each([
  [{ code: 406 }, "raise version"],
  [{ code: 404 }, "it does not exist"],
  [{ code: 403 }, "no permission for it"],
  [{ code: 503, message: "COMMAND_INVALID" }, "rabbitmq_consistent_hash_exchange"],
  [{ message: "Handshake terminated by server: 403 (ACCESS-REFUSED)" }, "correct the user and the password"],
  [{ message: "Expected ConnectionOpenOk; got <ConnectionClose channel:0>" }, "create the virtual host"],
  [{ code: 320 }, undefined],
  [{ code: 406, message: "delivery acknowledgement on channel 1 timed out" }, undefined],
])("an error of the broker, %j, has the remedy %s", (fields, remedy) => {
  const error = Object.assign(new Error("from the broker"), fields);
  const message = expect.stringMatching(new RegExp(`^rabbitmq: queue: .*${remedy}`));
  const expected = remedy === undefined ? error : { code: "BROKER_SETUP_INVALID", message };
  expect(explain("queue", error)).toMatchObject(expected);
});
