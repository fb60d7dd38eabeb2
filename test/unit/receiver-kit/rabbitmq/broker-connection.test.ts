import { describe, expect, it } from "vitest";
import { ReceiverError } from "../../../../receiver-kit/errors.ts";
import { BrokerConnection } from "../../../../receiver-kit/rabbitmq/broker-connection.ts";
import { FakeAmqp } from "../../../support/fake-amqp.ts";
import { createFixtureClock } from "../../../support/receiver-fixture.ts";

function createFixture(urls: readonly string[] = ["amqp://one", "amqp://two", "amqp://three"]) {
  const amqp = new FakeAmqp();
  const clock = createFixtureClock();
  const lost: string[] = [];
  const errors: unknown[] = [];
  const error = (fields: object) => void errors.push(fields);
  const connection = new BrokerConnection<string>(
    {
      ...{ urls, clock, connect: amqp.connect, random: () => 0 },
      logger: { info() {}, warn() {}, error },
      ...{ socketOptions: {}, heartbeatSeconds: 5, operationTimeoutMs: 1_000 },
    },
    {
      async setUp(opened) {
        await opened.createConfirmChannel();
        return amqp.latest.url;
      },
      onLost: (session, error) => lost.push(`${session}: ${error.message}`),
    },
  );
  return { amqp, clock, connection, lost, errors };
}

const refuse = async () => {
  throw new Error("ECONNREFUSED");
};

describe("a connection to a cluster", () => {
  it("tries the nodes in turn, and then waits longer after each attempt, up to 10 s", async () => {
    const { amqp, clock, connection } = createFixture();
    amqp.onConnect = refuse;
    const started = connection.start();
    await clock.advance(50);
    await started;
    expect(amqp.tried).toEqual(["amqp://one", "amqp://two", "amqp://three"]);
    expect(connection.stats.state).toBe("waiting");
    const attemptsWithin = async (ms: number) => {
      const before = amqp.tried.length;
      await clock.advance(ms);
      return amqp.tried.length - before;
    };
    // With the least jitter: 100, 200, 400, 800 ms …, and 5 s.
    expect(await attemptsWithin(1_600)).toBe(4);
    await clock.advance(60_000);
    expect(await attemptsWithin(60_000)).toBe(12);
    amqp.onConnect = async () => {};
    await clock.advance(5_000);
    expect(connection.stats).toMatchObject({ state: "ready", unavailableForMs: null });
  });

  it("is replaced by one to the next node at once when it is lost", async () => {
    const { amqp, clock, connection, lost } = createFixture();
    await connection.start();
    await clock.advance(5_000);
    amqp.latest.emit("error", new Error("ECONNRESET"));
    amqp.latest.emit("close");
    await clock.advance(20);
    expect(await connection.session(0)).toBe("amqp://two");
    expect(lost).toEqual(["amqp://one: ECONNRESET"]);
    expect(connection.stats.lost).toBe(1);
  });

  it("is not replaced in a loop when every one is lost at once", async () => {
    const { amqp, clock, connection } = createFixture();
    await connection.start();
    for (let n = 0; n < 1_000; n++) {
      amqp.latest.emit("close");
      await clock.advance(100);
    }
    expect(amqp.connections.length).toBeLessThan(40);
  });

  it("gives up a node that accepts no connection in time, and destroys the connection that it makes later", async () => {
    const { amqp, clock, connection, errors } = createFixture(["amqp://one"]);
    let open = () => {};
    amqp.onConnect = () =>
      new Promise<void>((resolve) => {
        open = resolve;
      });
    const started = connection.start();
    await clock.advance(1_000);
    await started;
    expect(connection.stats.state).toBe("waiting");
    expect(errors).toMatchObject([
      { err: { message: "rabbitmq: one accepted no connection within operationTimeoutMs (1000)" } },
    ]);
    open();
    await clock.settle();
    expect(amqp.connections[0]?.isDestroyed).toBe(true);
  });

  it("gives up a node that does not respond to a request", async () => {
    const { amqp, clock, connection } = createFixture(["amqp://one"]);
    amqp.onRequest = () => new Promise<void>(() => {});
    const started = connection.start();
    await clock.advance(1_000);
    await started;
    expect(amqp.connections[0]?.isDestroyed).toBe(true);
    await expect(connection.session(0)).rejects.toMatchObject({ code: "BROKER_UNAVAILABLE" });
  });

  it("rejects start() when the plugin of the exchange is missing, and continues to try", async () => {
    const { amqp, clock, connection } = createFixture(["amqp://one"]);
    amqp.onRequest = async () => {
      amqp.latest.emit("error", Object.assign(new Error("COMMAND_INVALID"), { code: 503 }));
      await new Promise<void>(() => {});
    };
    await expect(connection.start()).rejects.toMatchObject({
      code: "BROKER_SETUP_INVALID",
      message: expect.stringContaining("rabbitmq-plugins enable rabbitmq_consistent_hash_exchange"),
    });
    amqp.onRequest = async () => {};
    await clock.advance(1_000);
    expect(connection.stats.state).toBe("ready");
  });

  it("logs no setup error with which start() rejects, whichever node had it", async () => {
    const { amqp, clock, connection, errors } = createFixture(["amqp://one", "amqp://two"]);
    const invalid = new ReceiverError("BROKER_SETUP_INVALID", "not installed");
    amqp.onConnect = async (url) => {
      throw url === "amqp://one" ? invalid : new Error("ECONNREFUSED");
    };
    const started = connection.start();
    const rejected = expect(started).rejects.toBe(invalid);
    await clock.advance(50);
    await rejected;
    expect(errors).toEqual([]);
  });

  it("logs a setup error once when a request, and not start(), opened the connection", async () => {
    const { amqp, clock, connection, errors } = createFixture(["amqp://one"]);
    const invalid = new ReceiverError("BROKER_SETUP_INVALID", "not installed");
    amqp.onConnect = async () => {
      throw invalid;
    };
    await expect(connection.session(1_000)).rejects.toMatchObject({
      code: "BROKER_UNAVAILABLE",
      cause: invalid,
    });
    await clock.advance(500);
    expect(errors).toEqual([{ err: invalid, node: "one", failures: 1 }]);
  });

  it("ends its attempts when it is closed", async () => {
    const { amqp, clock, connection } = createFixture();
    amqp.onConnect = refuse;
    const started = connection.start();
    await clock.advance(1_000);
    await started;
    await connection.close(1_000);
    const before = amqp.tried.length;
    await clock.advance(60_000);
    expect(amqp.tried).toHaveLength(before);
    expect(clock.pending().timers).toBe(0);
  });
});
