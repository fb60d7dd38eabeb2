import * as kit from "@workspace-tasks/receiver-kit";
import {
  dedupeWebhook,
  orderWebhook,
  verifyWebhook,
  webhookMiddleware,
} from "@workspace-tasks/receiver-kit/express";
import { type PostgresPool, postgresInbox } from "@workspace-tasks/receiver-kit/postgres";
import { sqliteInbox } from "@workspace-tasks/receiver-kit/sqlite";
import { describe, expect, it } from "vitest";
import { secretA } from "../../support/signed-delivery.ts";

const secrets = [secretA];
const inbox = kit.memoryInbox();
const pool: PostgresPool = {
  connect: () => Promise.reject(new Error("not connected")),
};

/** Each factory, given these options beside the required ones. */
const factories: Record<string, (options: object) => unknown> = {
  createReceiver: (options) => kit.createReceiver({ secrets, inbox, ...options }),
  createVerifier: (options) => kit.createVerifier({ secrets, ...options }),
  verifyWebhook: (options) => verifyWebhook({ secrets, ...options }),
  dedupeWebhook: (options) => dedupeWebhook({ inbox, ...options }),
  orderWebhook: (options) => orderWebhook({ inbox, ...options }),
  memoryInbox: (options) => kit.memoryInbox(options),
  sqliteInbox: (options) => sqliteInbox({ path: "webhooks.db", ...options }),
  postgresInbox: (options) => postgresInbox(pool, options),
};

function messageOf(create: () => unknown): string {
  try {
    create();
  } catch (error) {
    if (kit.isReceiverError(error, "CONFIGURATION_INVALID")) return error.message;
    throw error;
  }
  return "accepted";
}

/** None of these is a valid value of any option, except text for a name. */
const wrongValues: readonly unknown[] = [
  ...[Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -1, 10n, "Strict"],
  ...[Symbol("x"), null, [7], { unknown: 1 }],
];

/** Options that take any name. */
const textOptions = (create: (options: object) => unknown) =>
  knownOptions(create).filter((option) => option === "source" || option === "path");

/** Secrets have codes and messages of their own. */
function knownOptions(create: (options: object) => unknown): readonly string[] {
  const [, names = ""] = /expected one of (.*)$/.exec(messageOf(() => create({ colour: "red" }))) ?? [];
  return names.split(", ").filter((name) => name !== "secrets");
}

const nestedOptions = [
  ...["createReceiver", "verifyWebhook"].flatMap((name) => [
    [name, "limits", "bodyBytesMax"] as const,
    [name, "limits", "bodyTimeoutMs"] as const,
    [name, "limits", "receivingBytesMax"] as const,
  ]),
  ...["firstDelayMs", "delayMsMax", "attemptsMax"].map(
    (option) => ["createReceiver", "retry", option] as const,
  ),
  ...["bodiesDays", "idsDays", "headsDays"].map((option) => ["createReceiver", "retention", option] as const),
];

describe("options of the receiver kit", () => {
  it.each(Object.entries(factories))(
    "%s rejects an unknown option and lists the known ones",
    (name, create) => {
      expect(messageOf(() => create({ colour: "red" }))).toMatch(
        new RegExp(`^${name}: unknown option colour; expected one of \\w+, `),
      );
    },
  );

  it.each(Object.entries(factories))("%s accepts undefined for every optional option", (_, create) => {
    const undefinedOptions = { clock: undefined, source: undefined, leaseMs: undefined, limits: undefined };
    const known = Object.entries(undefinedOptions).filter(([option]) => {
      return !messageOf(() => create({ [option]: undefined })).includes("unknown option");
    });
    expect(messageOf(() => create(Object.fromEntries(known)))).toBe("accepted");
  });

  it("sqliteInbox with options as a second argument says where they belong", () => {
    const create = sqliteInbox as (...values: unknown[]) => unknown;
    expect(() => create("webhooks.db", { driver: "libsql" })).toThrow("expected one argument");
  });

  it.each<[string, object, string]>([
    ["createReceiver", { polMs: 5 }, "unknown option polMs; did you mean pollMs?"],
    ["createReceiver", { limits: { bodyMax: 1 } }, "limits: unknown option bodyMax"],
    ["createReceiver", { leaseMs: 1.5 }, "leaseMs: expected a whole number of milliseconds from 1 to"],
    ["createReceiver", { pollMs: 2 ** 31 }, "pollMs: expected a whole number of milliseconds from 1 to"],
    ["createReceiver", { source: "a b\0" }, "source: expected 1 to 64 of"],
    ["createReceiver", { retention: { idsDays: 5 } }, "retention.idsDays: expected a number of at least 14"],
    [
      "createReceiver",
      { retention: { idsDays: 30, headsDays: 20 } },
      "retention.headsDays: expected at least",
    ],
    ["sqliteInbox", { driver: "sqlite3" }, "driver: expected one of libsql, better-sqlite3, node:sqlite"],
    ["postgresInbox", { schema: "Inbox" }, "schema: expected 1 to 50 lower case letters"],
  ])("%s rejects %j", (name, options, message) => {
    expect(messageOf(() => factories[name]?.(options))).toContain(`${name}: ${message}`);
  });

  it.each(Object.entries(factories))(
    "%s rejects values of the wrong kind for each of its options",
    (name, create) => {
      const accepted: string[] = [];
      for (const option of knownOptions(create)) {
        for (const value of wrongValues) {
          const outcome = messageOf(() => create({ [option]: value }));
          if (outcome === "accepted") accepted.push(`${option}: ${String(value)}`);
          else
            expect(outcome).toMatch(
              new RegExp(`^${name}: (?:expected|unknown|${option}\\S*: (?:expected|unknown))`),
            );
        }
      }
      expect(accepted).toEqual(textOptions(create).map((option) => `${option}: Strict`));
    },
  );

  it.each(nestedOptions)("%s rejects values of the wrong kind in %s.%s", (name, group, option) => {
    for (const value of wrongValues) {
      const outcome = messageOf(() => factories[name]?.({ [group]: { [option]: value } }));
      expect(outcome, String(value)).toMatch(
        new RegExp(`^${name}: ${group}\\.${option}: expected .+, got .+`),
      );
    }
  });

  it("webhookMiddleware rejects what is no receiver, and a sink whose limits are no limits", () => {
    const receiver = kit.createReceiver({ secrets, inbox });
    const { verifier } = receiver;
    const sink = { verifier, accept: receiver.accept, limits: receiver.limits };
    const mount = (given: unknown) => messageOf(() => webhookMiddleware(given as kit.DeliverySink));
    expect(mount(sink)).toBe("accepted");
    const expected = "webhookMiddleware: expected a receiver, such as createReceiver(…), got";
    expect(mount(undefined)).toBe(`${expected} undefined`);
    expect(mount({ secrets, inbox })).toBe(`${expected} an object`);
    expect(mount({ ...sink, limits: { bodyBytesMax: Number.NaN, bodyTimeoutMs: 1 } })).toBe(
      "webhookMiddleware: limits.bodyBytesMax: expected a positive whole number, got NaN",
    );
  });

  it.each<[string, () => unknown, string]>([
    [
      "createReceiver without options",
      () => kit.createReceiver(undefined as never),
      "createReceiver: expected an object, got undefined",
    ],
    [
      "createReceiver without an inbox",
      () => kit.createReceiver({ secrets } as unknown as kit.ReceiverOptions<kit.MemoryTransaction>),
      "createReceiver: inbox: expected an inbox such as sqliteInbox(path), postgresInbox(pool) or memoryInbox(), got undefined",
    ],
    [
      "dedupeWebhook without an inbox",
      () => dedupeWebhook({} as never),
      "dedupeWebhook: inbox: expected an inbox such as sqliteInbox(path)",
    ],
    [
      "postgresInbox without a pool",
      () => postgresInbox("postgres://u:p@host/db" as never),
      "postgresInbox: pool: expected a Pool of the package pg, got a string",
    ],
    [
      "createVerifier with the secret itself",
      () => kit.createVerifier(secretA as never),
      "createVerifier: expected an object, got a string",
    ],
  ])("%s is rejected, and the message contains no secret", (_, create, message) => {
    expect(messageOf(create)).toContain(message);
    expect(messageOf(create)).not.toMatch(/whsec_|u:p@/);
  });

  it("reconcile and close reject unknown options with ARGUMENT_INVALID", async () => {
    await using receiver = kit.createReceiver({ secrets, inbox: kit.memoryInbox() });
    const client = { tasks: { async *list() {} } };
    await expect(receiver.reconcile(client, { taskIdz: 1 } as object)).rejects.toMatchObject({
      code: "ARGUMENT_INVALID",
      message: "reconcile: unknown option taskIdz; did you mean taskIds?",
    });
    await expect(receiver.reconcile({} as never)).rejects.toThrow(
      "reconcile: client: expected a client with tasks.list",
    );
    expect(() => receiver.on("*", undefined as never)).toThrow(
      "on: handler: expected a function, got undefined",
    );
    await expect(receiver.close({ graceMs: -1 })).rejects.toThrow(
      "close: graceMs: expected a number of at least 0, got -1",
    );
  });
});
