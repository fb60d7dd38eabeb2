import { parseEvent } from "@workspace-tasks/events";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  decodePosition,
  encodePosition,
  eventOrder,
  formatInstant,
  idempotencyKey,
  isFarFuture,
  type OrderPosition,
  orderKey,
} from "../../../../receiver-kit/event/event-order.ts";
import { splitSource, tenantSource } from "../../../../receiver-kit/signature/tenant.ts";
import { atDepth } from "../../../support/depth.ts";
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

  it("is the ids themselves up to 500 characters", () => {
    const longest = "x".repeat(500 - '[""]'.length);
    expect(orderKey([longest])).toBe(`["${longest}"]`);
    expect(orderKey([`${longest}x`])).toMatch(/^\["","","[0-9a-f]{64}"\]$/);
  });

  it.each([{ occurredAt: "yesterday" }, { status: undefined }])(
    "is undefined for an event with %j",
    (odd) => {
      const event = {
        event: "task.paused",
        taskId: "t",
        occurredAt: "2026-03-01T00:00:00Z",
        status: "X",
        id: "a",
      };
      expect(eventOrder({ ...event, ...odd } as never)).toBeUndefined();
    },
  );

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

describe("ids of different events", () => {
  const hash = fc.constantFrom("x".repeat(600), "\ud800", "\ud801", "a:b", "~").chain((id) => {
    const [hashed = ""] = JSON.parse(orderKey([id])).slice(-1);
    const [key = ""] = idempotencyKey("s", id).split(":").slice(-1);
    const position = encodePosition({ occurredAt: 0n, rank: 0, id }).split(".").slice(-1);
    return fc.constantFrom(id, hashed, key, ...position);
  });
  const id = fc.oneof(
    hash,
    fc.string({ unit: fc.constantFrom(...'a:/~.,[]"\\', "\ud800", "\udc00", "\u0000"), maxLength: 5 }),
    fc.uuid(),
    fc.uuid().map((uuid) => `eu:${uuid}`),
  );
  const name = fc.string({ unit: fc.constantFrom(..."aA1._:-"), minLength: 1, maxLength: 4 });
  const source = fc.tuple(name, fc.option(name, { nil: undefined }));
  const runs = { numRuns: atDepth(20_000, 100_000) };

  /** Pairs of which one is often the other with its parts divided elsewhere. */
  const pairOf = <Value>(value: fc.Arbitrary<Value>) => fc.tuple(value, value);

  it("have no idempotency key in common, of whatever sources and tenants", () => {
    type Given = { readonly source: readonly [string, string | undefined]; readonly id: string };
    const given: fc.Arbitrary<readonly Given[]> = fc.oneof(
      pairOf(fc.record({ source, id })),
      fc.tuple(name, name, name, id).map(([first, second, tenant, rest]) => [
        { source: [first, tenant] as const, id: `${second}:${rest}` },
        { source: [first, `${tenant}:${second}`] as const, id: rest },
      ]),
    );
    fc.assert(
      fc.property(given, (pair) => {
        const keys = pair.map((each) => idempotencyKey(tenantSource(...each.source), each.id));
        const isSame = JSON.stringify(pair[0]) === JSON.stringify(pair[1]);
        expect(keys[0] === keys[1]).toBe(isSame);
      }),
      runs,
    );
    const uuid = "5b7f7d0e-0000-4000-8000-000000000001";
    expect(idempotencyKey("default/acme", `eu:${uuid}`)).not.toBe(idempotencyKey("default/acme:eu", uuid));
    expect(idempotencyKey("default/acme", uuid)).toBe(`default/acme:${uuid}`);
  });

  it("have no source in common, of whatever tenants", () => {
    fc.assert(
      fc.property(pairOf(source), ([one, other]) => {
        const isSame = JSON.stringify(one) === JSON.stringify(other);
        expect(tenantSource(...one) === tenantSource(...other)).toBe(isSame);
        expect(splitSource(tenantSource(...one))).toEqual({ source: one[0], tenant: one[1] });
      }),
      runs,
    );
  });

  it("have no ordering key and no position in common", () => {
    const ids = fc.oneof(fc.tuple(id), fc.tuple(id, id));
    fc.assert(
      fc.property(pairOf(ids), ([one, other]) => {
        expect(orderKey(one) === orderKey(other)).toBe(JSON.stringify(one) === JSON.stringify(other));
        const positions = [one, other].map(([first]) =>
          encodePosition({ occurredAt: 0n, rank: 0, id: first }),
        );
        expect(positions[0] === positions[1]).toBe(one[0] === other[0]);
      }),
      runs,
    );
    const long = ["x".repeat(600)];
    expect(orderKey([JSON.parse(orderKey(long)).at(-1)])).not.toBe(orderKey(long));
  });
});

describe("encodePosition", () => {
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
  it.each(["a", "!", "~", `~${"0".repeat(65)}`, "x".repeat(200)])(
    "is the id itself when it is printable: %s",
    (id) => {
      expect(encodePosition({ occurredAt: 0n, rank: 1, id })).toBe(`100000000000000000000.1.${id}`);
    },
  );

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

function compareFields(a: OrderPosition, b: OrderPosition): number {
  if (a.occurredAt !== b.occurredAt) return a.occurredAt < b.occurredAt ? -1 : 1;
  if (a.rank !== b.rank) return Math.sign(a.rank - b.rank);
  return a.id === b.id ? 0 : a.id < b.id ? -1 : 1;
}
