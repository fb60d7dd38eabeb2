import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseEvent } from "workspace-tasks/events";
import type { MemoryTransaction, Receiver } from "workspace-tasks/receiver-kit";
import {
  decodePosition,
  encodePosition,
  eventOrder,
  formatInstant,
  isFarFuture,
  type OrderPosition,
  orderKey,
} from "../../../../receiver-kit/event/event-order.ts";
import { memoryInbox } from "../../../support/inbox-stores.ts";
import { createFixtureClock, createReceiverFixture } from "../../../support/receiver-fixture.ts";
import { completedEvent, sampleEvent, stageEvent } from "../../../support/sample-event.ts";

const orderOf = (event: Record<string, unknown>) => {
  const parsed = parseEvent(event);
  if (!parsed.ok) throw new Error("expected a valid event");
  return eventOrder(parsed.event);
};

const positionText = (event: Record<string, unknown>) => {
  const order = orderOf(event);
  if (!order) throw new Error("expected an event with an order");
  return order.position;
};

describe("orderKey", () => {
  it("differs for a task and for a pair of ids, whatever the ids look like", () => {
    const keys = [["a/b"], ["a", "b"], ["a,b"], ['a","b'], ["a"], [""], ["A"]].map(orderKey);
    expect(new Set(keys).size).toBe(keys.length);
  });

  it("is short and unique for ids of any length", () => {
    const long = "x".repeat(100_000);
    expect(orderKey([long]).length).toBeLessThan(500);
    expect(orderKey([long])).not.toBe(orderKey([`${long}y`]));
  });

  it("is the ids themselves up to 500 characters", () => {
    const longest = "x".repeat(500 - '[""]'.length);
    expect(orderKey([longest])).toBe(`["${longest}"]`);
    expect(orderKey([`${longest}x`])).toMatch(/^\["[0-9a-f]{64}"\]$/);
  });

  it("is undefined for an event whose time cannot be read", () => {
    const event = { event: "task.running", taskId: "t", occurredAt: "yesterday", status: "RUNNING", id: "a" };
    expect(eventOrder(event as never)).toBeUndefined();
  });

  it("contains no character that a database could not store", () => {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
    expect(orderKey(["a\u0000b\ud800"])).not.toMatch(/[\u0000-\u001f\ud800-\udfff]/);
  });

  it("is defined for events of tasks and stages only", () => {
    expect(orderOf(sampleEvent({ taskId: "t" }))?.key).toBe('["t"]');
    expect(orderOf(stageEvent({ taskId: "t", subTaskId: "s" }))?.key).toBe('["t","s"]');
    expect(
      orderOf({ event: "task.paused", taskId: "t", occurredAt: "2026-03-01T00:00:00Z" }),
    ).toBeUndefined();
  });
});

describe("encodePosition", () => {
  it.each([
    ["2026-03-01T00:00:00.000001Z", "2026-03-01T00:00:00.000002Z"],
    ["2026-03-01T00:00:00.1Z", "2026-03-01T00:00:00.100000001Z"],
    ["2026-03-01T02:00:00+02:00", "2026-03-01T00:00:01Z"],
    ["0001-01-01T00:00:00Z", "1970-01-01T00:00:00Z"],
    ["1969-12-31T23:59:59.999999999Z", "1970-01-01T00:00:00Z"],
    ["2262-04-11T23:47:16.854775807Z", "9999-12-31T23:59:59.999999999Z"],
  ])("orders %s before %s", (earlier, later) => {
    const at = (occurredAt: string) => positionText(sampleEvent({ occurredAt, id: "same" }));
    expect(at(earlier) < at(later)).toBe(true);
  });

  it("orders a terminal status after a running one at the same instant, whatever the ids", () => {
    const occurredAt = "2026-03-01T00:00:00.000Z";
    const running = positionText(sampleEvent({ occurredAt, id: "zzz" }));
    expect(running < positionText(completedEvent({ occurredAt, id: "aaa" }))).toBe(true);
  });

  it("returns texts that compare like the positions", () => {
    const position = fc.record({
      occurredAt: fc.bigInt({ min: -62_135_596_800_000_000_000n, max: 253_402_300_799_999_999_999n }),
      rank: fc.integer({ min: 0, max: 1 }),
      id: fc.string({ unit: fc.constantFrom(..."!09AZaz~"), minLength: 1, maxLength: 4 }),
    });
    fc.assert(
      fc.property(position, position, (a, b) => {
        const [left, right] = [encodePosition(a), encodePosition(b)];
        expect(Math.sign(left < right ? -1 : left > right ? 1 : 0)).toBe(compareFields(a, b));
      }),
    );
  });

  it("returns different printable texts for different ids of any kind", () => {
    const ids = ["a", "é", "\u{1f600}", "\ud800", "\u0000", " ", "", "x".repeat(300), `${"x".repeat(300)}y`];
    const texts = ids.map((id) => encodePosition({ occurredAt: 1n, rank: 0, id }));
    expect(new Set(texts).size).toBe(ids.length);
    for (const text of texts) expect(text).toMatch(/^[\x21-\x7e]+$/);
  });
});

describe("decodePosition", () => {
  it.each([0n, 1n, -1n, 1_772_357_400_123_456_789n, -62_135_596_800_000_000_000n])(
    "returns the time and the rank of a position at %i ns",
    (occurredAt) => {
      for (const rank of [0, 1]) {
        expect(decodePosition(encodePosition({ occurredAt, rank, id: "a.b" }))).toEqual({ occurredAt, rank });
      }
    },
  );
});

describe("the id in a position", () => {
  it.each(["a", "!", "~", "x".repeat(200)])("is the id itself when it is printable: %s", (id) => {
    expect(encodePosition({ occurredAt: 0n, rank: 1, id })).toBe(`100000000000000000000.1.${id}`);
  });

  it.each(["", "é", " a", "a ", "\u007f", "a\n", "x".repeat(201)])("is a hash otherwise: %j", (id) => {
    expect(encodePosition({ occurredAt: 0n, rank: 1, id })).toMatch(/^1(0{20})\.1\.~[0-9a-f]{64}$/);
  });
});

describe("formatInstant", () => {
  it.each([
    [0n, "1970-01-01T00:00:00.000Z"],
    [1_000_000n, "1970-01-01T00:00:00.001Z"],
    [1_000n, "1970-01-01T00:00:00.000001000Z"],
    [1n, "1970-01-01T00:00:00.000000001Z"],
    [-1n, "1969-12-31T23:59:59.999999999Z"],
    [-1_000_000_000n, "1969-12-31T23:59:59.000Z"],
    [1_772_357_400_100_000_000n, "2026-03-01T09:30:00.100Z"],
    [1_772_357_400_000_000_500n, "2026-03-01T09:30:00.000000500Z"],
    [1_772_357_400_000_000_010n, "2026-03-01T09:30:00.000000010Z"],
  ])("writes %i ns as %s", (occurredAt, text) => {
    expect(formatInstant(occurredAt)).toBe(text);
  });
});

describe("isFarFuture", () => {
  const nowMs = 1_772_357_400_000;
  const tenMinutesNs = BigInt(nowMs + 600_000) * 1_000_000n;

  it("is true from more than ten minutes after the clock", () => {
    expect([-1n, 0n, 1n].map((ns) => isFarFuture(tenMinutesNs + ns, nowMs))).toEqual([false, false, true]);
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY])("is false with a clock that shows %d", (shownMs) => {
    expect(isFarFuture(tenMinutesNs * 2n, shownMs)).toBe(false);
  });
});

type Step = {
  readonly task: number;
  readonly second: number;
  readonly kind: "running" | "completed" | "stage";
};

const step: fc.Arbitrary<Step> = fc.record({
  task: fc.integer({ min: 0, max: 2 }),
  // Few instants, so that ties are common.
  second: fc.integer({ min: 0, max: 3 }),
  kind: fc.constantFrom("running", "completed", "stage"),
});

describe("the order of arrival", () => {
  it("does not change the final state, with duplicates, failures and concurrent handlers", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 1, maxLength: 12 }),
        fc.integer(),
        fc.constantFrom("latest" as const, "strict" as const),
        async (steps, seed, keyOrder) => {
          const draw = seededRandom(seed);
          const events = steps.map(toEvent);
          const expected = foldOfMaxima(events);
          const deliveries = shuffle([...events, ...events.filter(() => draw() < 0.3)], draw);
          expect(await stateAfter(deliveries, draw, keyOrder)).toEqual(expected);
        },
      ),
      { numRuns: 100 },
    );
  });

  it("would change it if the last event to arrive won", () => {
    const events = [
      completedEvent({ taskId: "t", occurredAt: "2026-03-01T00:00:02Z" }),
      sampleEvent({ taskId: "t", occurredAt: "2026-03-01T00:00:01Z" }),
    ];
    const lastWins = (deliveries: typeof events) => deliveries.at(-1)?.["status"];
    expect(lastWins(events)).not.toBe(lastWins(events.toReversed()));
    expect(foldOfMaxima(events)).toEqual(foldOfMaxima(events.toReversed()));
  });
});

/** Delivers the events to a receiver whose handlers sometimes fail; returns what was applied last. */
async function stateAfter(
  deliveries: readonly Record<string, unknown>[],
  draw: () => number,
  keyOrder: "latest" | "strict",
): Promise<Record<string, string>> {
  const clock = createFixtureClock();
  const state: Record<string, string> = {};
  const inbox = memoryInbox({ clock });
  await using fixture = createReceiverFixture({
    ...{ clock, inbox, concurrency: 3, keyOrder, random: draw },
    pollMs: 3_600_000,
  });
  applyInto(state, fixture.receiver, draw);
  await fixture.receiver.start();
  for (const [index, event] of deliveries.entries()) {
    // Two deliveries of one event may have two ids, as with two endpoints.
    await fixture.deliver(event, draw() < 0.5 ? `msg_${index}` : `msg_${String(event["id"])}`);
    if (draw() < 0.5) await clock.advance(Math.floor(draw() * 1_500));
  }
  await clock.advance(3_600_000);
  const stats = await fixture.inbox.stats();
  expect(stats.rows).toMatchObject({ pending: 0, running: 0, dead: 0, quarantined: 0 });
  return state;
}

function applyInto(state: Record<string, string>, receiver: Receiver<MemoryTransaction>, draw: () => number) {
  const apply = async (key: string, id: string, transaction: MemoryTransaction) => {
    transaction.apply(() => {
      state[key] = id;
    });
    if (draw() < 0.3) throw new Error("a handler fails sometimes");
  };
  receiver.onState("task", ({ taskId, id }, { transaction }) => apply(taskId, id, transaction));
  receiver.onState("subtask", ({ taskId, subTaskId, id }, { transaction }) =>
    apply(`${taskId}/${subTaskId}`, id, transaction),
  );
}

function toEvent({ task, second, kind }: Step, index: number): Record<string, unknown> {
  const fields = {
    taskId: `task-${task}`,
    occurredAt: `2026-03-01T00:00:0${second}.000Z`,
    id: `event-${index}`,
  };
  if (kind === "running") return sampleEvent(fields);
  if (kind === "completed") return completedEvent(fields);
  return stageEvent({ ...fields, subTaskId: `stage-${task}` });
}

/** The state by definition: for each key, the event with the greatest position. */
function foldOfMaxima(events: readonly Record<string, unknown>[]): Record<string, string> {
  const best = new Map<string, Record<string, unknown>>();
  for (const event of events) {
    const key = [event["taskId"], event["subTaskId"]].filter((id) => id !== undefined).join("/");
    const current = best.get(key);
    if (!current || positionText(event) > positionText(current)) best.set(key, event);
  }
  return Object.fromEntries([...best].map(([key, event]) => [key, String(event["id"])]));
}

/** A seeded generator, so that a failing example can be repeated. */
function seededRandom(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    const mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    const again = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((again ^ (again >>> 14)) >>> 0) / 4_294_967_296;
  };
}

function shuffle<Item>(items: readonly Item[], draw: () => number): readonly Item[] {
  return items
    .map((item) => ({ item, sortKey: draw() }))
    .toSorted((a, b) => a.sortKey - b.sortKey)
    .map(({ item }) => item);
}

function compareFields(a: OrderPosition, b: OrderPosition): number {
  if (a.occurredAt !== b.occurredAt) return a.occurredAt < b.occurredAt ? -1 : 1;
  if (a.rank !== b.rank) return Math.sign(a.rank - b.rank);
  return a.id === b.id ? 0 : a.id < b.id ? -1 : 1;
}
