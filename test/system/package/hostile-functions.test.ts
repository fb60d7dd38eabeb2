// Functions of an application that fail in every way, as each option that takes one. What they throw, and what a promise
// of theirs is rejected with, never ends the process: only a process of its own shows that.

import path from "node:path";
import { describe, expect, it } from "vitest";
import { bundledProgram } from "../../support/bundled-program.ts";
import { RunningProgram } from "../../support/running-program.ts";
import { type Behaviour, behaviours } from "./hostile-functions.ts";

type Outcomes = Readonly<Record<string, unknown>>;

/** By the behaviour of the functions. */
async function outcomesOf(name: string): Promise<Readonly<Record<string, Outcomes>>> {
  const entry = path.join(import.meta.dirname, `${name}-functions-program.ts`);
  using program = new RunningProgram([...(await bundledProgram(entry))]);
  const { code, output } = await program.ended();
  expect(code, output).toBe(0);
  const [result = "{}"] = /^\{.*\}$/m.exec(output) ?? [];
  return JSON.parse(result);
}

const all = Object.keys(behaviours) as Behaviour[];
const each = (outcomes: (behaviour: Behaviour) => Outcomes) =>
  Object.fromEntries(all.map((behaviour) => [behaviour, outcomes(behaviour)]));

describe("functions of an application that fail", () => {
  const ofReceiver: Outcomes = {
    secrets: "503 none",
    "secrets.byTenant": "503 none",
    "secrets of a tenant": "503 none",
    "a secret of a list": "503 none",
    random: "200 dead",
    logger: "200 dead",
    "logger of a rejection": "401 none",
    onRejected: "401 none",
    onQuarantined: "200 quarantined",
    onDead: "200 dead",
    "telemetry.accept": "200 done",
    "telemetry.handle": "200 done",
    "telemetry.observe": "200 done",
    "end of telemetry.observe": "200 done",
    handler: "200 dead",
    "verifyWebhook onRejected": 401,
    "dedupeWebhook onError": 503,
    "orderWebhook onError": 503,
    "auditReceiver onProgress": "reported",
    "sqliteInbox driver": "INBOX_OPEN_FAILED",
  };
  it.concurrent("no function of a receiver ends the process", async () => {
    // What a handler returns is not looked at.
    const expected = { ...each(() => ofReceiver), "returns garbage": { ...ofReceiver, handler: "200 done" } };
    expect(await outcomesOf("receiver")).toEqual(expected);
  });

  const ofMock: Outcomes = {
    override: "errors",
    checkConnection: "errors",
    receivers: "failed attempts",
    subscribe: "other listeners called",
  };
  const exceptions: Partial<Record<Behaviour, Outcomes>> = {
    // A test that stops a response may wait for as long as it likes.
    "never settles": { override: "pending", checkConnection: "pending" },
    // Anything but true is a platform that does not accept the connection.
    "returns garbage": { checkConnection: "failed" },
  };
  it.concurrent("no function of a mock ends the process", async () => {
    expect(await outcomesOf("mock")).toEqual(each((behaviour) => ({ ...ofMock, ...exceptions[behaviour] })));
  });

  it.concurrent("no function of a client ends the process", async () => {
    const progress = (behaviour: Behaviour) => progressOutcomes[behaviour] ?? "ON_PROGRESS_FAILED";
    expect(await outcomesOf("sdk")).toEqual(
      each((behaviour) => ({
        apiKey: keyOutcomes[behaviour] ?? "API_KEY_UNAVAILABLE",
        fetch: fetchOutcomes[behaviour] ?? "NETWORK_FAILED",
        "uploads.upload onProgress": progress(behaviour),
        "tasks.waitFor onProgress": progress(behaviour),
      })),
    );
  });
});

type ByBehaviour = Partial<Record<Behaviour, string>>;
const late = { "never settles": "DEADLINE_EXCEEDED" };
const keyOutcomes: ByBehaviour = { ...late, "returns garbage": "CONFIGURATION_INVALID" };
const fetchOutcomes: ByBehaviour = { ...late, "returns garbage": "RESPONSE_INVALID" };
const progressOutcomes: ByBehaviour = { ...late, "returns garbage": "done" };
