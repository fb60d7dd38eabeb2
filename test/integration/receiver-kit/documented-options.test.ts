// What the documentation of an option says of its default, minimum and maximum is what happens, at its border.

import { readFileSync } from "node:fs";
import { memoryInbox, NonRetryableError } from "@workspace-tasks/receiver-kit";
import { describe, expect, it } from "vitest";
import { retryDelayMs } from "../../../receiver-kit/attempt/retry-policy.ts";
import { defaults } from "../../../receiver-kit/options.ts";
import { resolveReceiverOptions } from "../../../receiver-kit/receiver-options.ts";
import {
  createFixtureClock,
  createReceiverFixture,
  type ReceiverFixtureOptions,
} from "../../support/receiver-fixture.ts";
import { sampleEvent } from "../../support/sample-event.ts";
import { secretA } from "../../support/signed-delivery.ts";

const root = new URL("../../../receiver-kit/", import.meta.url);

/** The options of a source file whose comment names a default, with that. */
function documentedDefaults(file: string): readonly (readonly [option: string, value: string])[] {
  const source = readFileSync(new URL(file, root), "utf8");
  const comments = source.matchAll(
    /\/\*\*(?:(?!\*\/)[\s\S])*?Default (`[^`]+`|[\d,]*\d)(?:(?!\*\/)[\s\S])*?\*\/\s+readonly (\w+)/g,
  );
  return [...comments].map(([, value = "", option = ""]) => [option, value.replaceAll(/[`,]/g, "")]);
}

const { ingest, worker, retry, reconcile, limits, rabbitmq, sqlite, postgres, memory } = defaults;
const retention = { ...defaults.retention, idsDays: 14 };
const source = { source: "default" };

/** What each file's options are when they are not given. */
const files: Readonly<Record<string, object>> = {
  "options.ts": limits,
  "receiver-options.ts": { ...source, ...ingest, ...worker, ...retry, ...retention },
  "reconcile/reconcile.ts": reconcile,
  "signature/verifier.ts": { toleranceSeconds: defaults.toleranceSeconds },
  "inbox/memory/memory-inbox.ts": memory,
  "inbox/sqlite/sqlite-inbox.ts": sqlite,
  "inbox/postgres/postgres-inbox.ts": { ...postgres, migrate: true },
  "inbox/postgres/connection/primary-pool.ts": postgres,
  "middleware/received-webhook.ts": { ...source, ...ingest },
  "middleware/dedupe-webhook.ts": { ...ingest, leaseMs: 30_000 },
  "middleware/order-webhook.ts": { waitMs: defaults.orderWaitMs },
  "rabbitmq/rabbitmq-options.ts": { ...rabbitmq, declare: true },
  "rabbitmq/rabbitmq-intake.ts": { ...source, ...rabbitmq },
  "rabbitmq/rabbitmq-consumer.ts": rabbitmq,
};

const documented = Object.entries(files).flatMap(([file, values]) =>
  documentedDefaults(file).map(([option, value]) => ({
    ...{ file, option, value },
    actual: String((values as Record<string, unknown>)[option]),
  })),
);

const settingsOf = (options: object = {}) =>
  resolveReceiverOptions({ secrets: [secretA], inbox: memoryInbox(), ...options });

/** How many times the handlers of one event run until it is dead, with this many attempts. */
async function attemptsUntilDead(options: ReceiverFixtureOptions): Promise<number> {
  await using fixture = createReceiverFixture(options);
  let runs = 0;
  fixture.receiver.on("*", () => {
    runs += 1;
    throw new Error("not yet");
  });
  await fixture.receiver.start();
  await fixture.deliver(sampleEvent(), "msg_1");
  await fixture.clock.advance(24 * 3_600_000);
  expect(await fixture.stateOf("msg_1")).toBe("dead");
  return runs;
}

/** The outcomes of deliveries that are not handled. */
async function deliver(count: number, options: ReceiverFixtureOptions): Promise<readonly string[]> {
  await using fixture = createReceiverFixture(options);
  const outcomes: string[] = [];
  for (let each = 0; each < count; each += 1) {
    const outcome = await fixture.deliver(sampleEvent()).catch(({ code }: { code: string }) => code);
    outcomes.push(outcome);
  }
  return outcomes;
}

/** The most handlers that run at a time. */
async function mostAtOnce(options: ReceiverFixtureOptions): Promise<number> {
  const clock = createFixtureClock();
  await using fixture = createReceiverFixture({ clock, ...options });
  let [running, most] = [0, 0];
  fixture.receiver.on("*", async () => {
    running += 1;
    most = Math.max(most, running);
    await new Promise<void>((resolve) => clock.schedule(10, resolve));
    running -= 1;
    throw new NonRetryableError("enough");
  });
  await fixture.receiver.start();
  for (let each = 0; each < 30; each += 1) await fixture.deliver(sampleEvent());
  await clock.advance(60_000);
  return most;
}

describe("the documented default of an option of the receiver kit", () => {
  it("is found for at least 40 options", () => {
    expect(documented.length).toBeGreaterThanOrEqual(40);
  });

  it.each(documented)("is its default: $option in $file is $value", ({ value, actual }) => {
    expect(actual).toBe(value);
  });

  it("is what createReceiver uses", () => {
    const settings = settingsOf();
    expect(settings).toMatchObject({ ...ingest, ...worker, retry, ...source, limits });
    const day = 86_400_000;
    expect(settings.retention).toEqual({
      ...{ bodiesMs: 7 * day, unhandledBodiesMs: 30 * day, rowsMs: 14 * day, headsMs: 365 * day },
    });
  });

  it("15 attempts take about three hours", () => {
    const delays = Array.from({ length: 14 }, (_, index) => retryDelayMs(retry, index + 1, () => 0.5));
    const hours = delays.reduce((sum, delayMs) => sum + delayMs, 0) / 3_600_000;
    expect(Math.round(hours)).toBe(3);
  });

  it.each([
    [8, 4],
    [7, 4],
    [1, 1],
  ])("tenantConcurrency is half of a concurrency of %d: %d", (concurrency, half) => {
    expect(settingsOf({ concurrency }).tenantConcurrency).toBe(half);
  });
});

describe("the documented limit of an option of the receiver kit holds at its border:", () => {
  it.each<[string, () => unknown, unknown]>([
    [
      "idsDays is at least 14",
      () => settingsOf({ retention: { idsDays: 14 } }).retention.rowsMs,
      14 * 86_400_000,
    ],
    [
      "headsDays may be idsDays",
      () => settingsOf({ retention: { idsDays: 20, headsDays: 20 } }).retention.headsMs,
      20 * 86_400_000,
    ],
    [
      "attemptsMax 1 makes an event dead after one attempt",
      () => attemptsUntilDead({ retry: { attemptsMax: 1 } }),
      1,
    ],
    [
      "attemptsMax 3 makes an event dead after three attempts",
      () => attemptsUntilDead({ retry: { attemptsMax: 3 } }),
      3,
    ],
    [
      "backlogMax 2 stores two and rejects the third",
      () => deliver(3, { backlogMax: 2 }),
      ["accepted", "accepted", "BACKLOG_FULL"],
    ],
    [
      "rowsMax 2 of the memory inbox stores two and rejects the third",
      () => {
        const clock = createFixtureClock();
        return deliver(3, { clock, inbox: memoryInbox({ clock, rowsMax: 2 }) });
      },
      ["accepted", "accepted", "INBOX_UNAVAILABLE"],
    ],
    ["concurrency 3 runs three handlers at a time", () => mostAtOnce({ concurrency: 3 }), 3],
    ["concurrency 1 runs one handler at a time", () => mostAtOnce({ concurrency: 1 }), 1],
  ])("%s", async (_title, act, expected) => {
    expect(await act()).toEqual(expected);
  });
});
