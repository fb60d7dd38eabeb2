import { describe, expect, it } from "vitest";
import {
  addSecret,
  parseSecrets,
  readSigningSecrets,
  signingSecrets,
} from "../../../../sdk/signing-secrets/signing-secrets.ts";
import { FrozenClock } from "../../../support/receiver-fixture.ts";

const dayMs = 86_400_000;
const add = (stored: ReturnType<typeof parseSecrets>, secret: string, graceMs: number, nowMs: number) =>
  parseSecrets(JSON.stringify(addSecret(stored, secret, graceMs, nowMs)));
const textOf = (stored: ReturnType<typeof parseSecrets>) => JSON.stringify(stored);

describe("the secrets of a store", () => {
  it("verify until the end of their grace period, and are dropped when another is added", () => {
    let stored = add(parseSecrets(null), "a", dayMs, 0);
    stored = add(stored, "b", dayMs, 1_000);
    expect(readSigningSecrets(textOf(stored), dayMs + 999)).toEqual(["b", "a"]);
    expect(readSigningSecrets(textOf(stored), dayMs + 1_000)).toEqual(["b"]);
    expect(add(stored, "c", dayMs, 2 * dayMs).secrets.map(({ secret }) => secret)).toEqual(["c", "b"]);
  });

  it("are the new one alone after a grace period of 0, and an earlier end is never moved", () => {
    const stored = add(add(parseSecrets(null), "a", 0, 0), "b", 1_000, 0);
    expect(add(stored, "c", 5_000, 0).secrets).toMatchObject([
      { secret: "c", validUntilMs: null },
      { secret: "b", validUntilMs: 5_000 },
      { secret: "a", validUntilMs: 1_000 },
    ]);
    expect(readSigningSecrets(textOf(add(stored, "c", 0, 0)), 0)).toEqual(["c"]);
  });

  it("are at most as many as a receiver accepts, and the newest", () => {
    let stored = parseSecrets(null);
    for (let index = 0; index < 20; index += 1) stored = add(stored, `s${index}`, dayMs, 0);
    expect(readSigningSecrets(textOf(stored), 0)).toHaveLength(16);
    expect(readSigningSecrets(textOf(stored), 0)[0]).toBe("s19");
  });

  it.each([null, "", " \n"])("are none in an empty store (%j)", (text) => {
    expect(readSigningSecrets(text)).toEqual([]);
  });

  it.each([
    ["a secret alone", "whsec_c2VjcmV0", "expected an object, got nothing"],
    ["another version", '{"version":2,"secret":"whsec_c2VjcmV0"}', "version: expected 1, got 2"],
    ["another JSON text", '{"whsec_c2VjcmV0":1}', "version: expected 1, got nothing"],
    [
      "no list of secrets",
      '{"version":1,"url":"","endpointId":"","secrets":"whsec_c2VjcmV0"}',
      "secrets: expected an array, got a string",
    ],
  ])("are not read from %s, which the error does not show", (_, text, message) => {
    expect(() => readSigningSecrets(text)).toThrow(
      expect.objectContaining({
        code: "SECRET_STORE_FAILED",
        message: expect.stringMatching(
          new RegExp(`JSON text that webhooks.ensureEndpoint has stored \\(.*${message}`),
        ),
      }),
    );
    expect(() => readSigningSecrets(text)).not.toThrow(/whsec_/);
  });
});

describe("the secrets function of a receiver", () => {
  const texts = (...secrets: string[]) =>
    secrets.map((secret) => textOf(add(parseSecrets(null), secret, 0, 0)));

  it("reads the store once per cacheMs, also for calls at once", async () => {
    const [first, second] = texts("a", "b");
    const clock = new FrozenClock(0);
    let reads = 0;
    const secrets = signingSecrets({ read: async () => (reads++ === 0 ? first : second) ?? null }, { clock });
    expect(await Promise.all([secrets(), secrets()])).toEqual([["a"], ["a"]]);
    clock.ms = 4_999;
    expect(await secrets()).toEqual(["a"]);
    clock.ms = 5_000;
    expect(await secrets()).toEqual(["b"]);
    expect(reads).toBe(2);
  });

  it("fails with the store, and reads it again for the next delivery", async () => {
    let reads = 0;
    const read = async () => {
      if (reads++ === 0) throw new Error("down");
      return texts("a")[0] ?? null;
    };
    const secrets = signingSecrets({ read });
    await expect(secrets()).rejects.toThrow("down");
    expect(await secrets()).toEqual(["a"]);
  });

  it.each<[string, () => unknown]>([
    ["signingSecrets: expected a store with read, got null", () => signingSecrets(null as never)],
    ["signingSecrets: expected an object, got null", () => signingSecrets({ read }, null as never)],
    [
      "signingSecrets: unknown option cacheMS; did you mean cacheMs?",
      () => signingSecrets({ read }, { cacheMS: 1 } as never),
    ],
  ])("is not made of other values: %s", (message, make) => {
    expect(make).toThrow(expect.objectContaining({ code: "CONFIGURATION_INVALID", message }));
  });

  it.each([new Uint8Array(1), { version: 1 }, 3, ["x"]])("fails when the store has %o", async (text) => {
    const message = /^secrets\.read: .*\(expected a string, got an? \w+\)/;
    const failed = expect.objectContaining({
      code: "SECRET_STORE_FAILED",
      message: expect.stringMatching(message),
    });
    await expect(signingSecrets({ read: async () => text as never })()).rejects.toEqual(failed);
    expect(() => readSigningSecrets(text as never)).toThrow(failed);
    expect(readSigningSecrets(undefined as never)).toEqual([]);
  });
});

const read = async () => null;
