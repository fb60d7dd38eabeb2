// What the documentation of an option says of its default, minimum and maximum is what happens, at its border.

import { readFileSync } from "node:fs";
import { memoryInbox } from "@workspace-tasks/receiver-kit";
import { describe, expect, it } from "vitest";
import { defaults } from "../../../receiver-kit/options.ts";
import { resolveReceiverOptions } from "../../../receiver-kit/receiver-options.ts";
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
  "receiver-options.ts": {
    ...source,
    ...ingest,
    ...worker,
    ...retry,
    ...retention,
    everyMs: reconcile.everyMs,
  },
  "reconcile/reconcile.ts": reconcile,
  "signature/verifier.ts": { toleranceSeconds: defaults.toleranceSeconds },
  "inbox/memory/memory-inbox.ts": memory,
  "inbox/sqlite/sqlite-inbox.ts": sqlite,
  "inbox/postgres/postgres-inbox.ts": { ...postgres, migrate: true, prepare: true },
  "inbox/postgres/primary-pool.ts": postgres,
  "middleware.ts": { ...source, ...ingest, leaseMs: 30_000, waitMs: defaults.orderWaitMs },
  "rabbitmq/rabbitmq-options.ts": { ...rabbitmq, declare: true },
  "rabbitmq/rabbitmq-intake.ts": { ...source, ...rabbitmq },
  "rabbitmq/rabbitmq-consumer.ts": rabbitmq,
};

const documented = Object.entries(files).flatMap(([file, values]) =>
  documentedDefaults(file).map(([option, value]) => ({
    file,
    option,
    value,
    actual: String((values as Record<string, unknown>)[option]),
  })),
);

const settingsOf = (options: object = {}) =>
  resolveReceiverOptions({ secrets: [secretA], inbox: memoryInbox(), ...options });

describe("the documented default of an option of the receiver kit", () => {
  it("is found for at least 40 options", () => {
    expect(documented.length).toBeGreaterThanOrEqual(40);
  });

  it.each(documented)("is its default: $option in $file is $value", ({ value, actual }) => {
    expect(actual).toBe(value);
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
  ])("%s", async (_title, act, expected) => {
    expect(await act()).toEqual(expected);
  });
});
