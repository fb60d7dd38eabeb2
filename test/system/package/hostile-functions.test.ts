// Functions of an application that fail in every way, as each option that takes one. What they throw, and what a promise
// of theirs is rejected with, never ends the process: only a process of its own shows that.

import path from "node:path";
import { describe, expect, it } from "vitest";
import { bundledProgram } from "../../support/bundled-program.ts";
import { type Behaviour, behaviours } from "../../support/hostile-functions.ts";
import { RunningProgram } from "../../support/running-program.ts";

type Outcomes = Readonly<Record<string, unknown>>;

async function outcomesOf(name: string, behaviour: Behaviour): Promise<Outcomes> {
  const entry = path.join(import.meta.dirname, `../../support/${name}-functions-program.ts`);
  using program = new RunningProgram([...(await bundledProgram(entry)), behaviour]);
  const { code, output } = await program.ended();
  expect(code, output).toBe(0);
  const [result = "{}"] = /^\{.*\}$/m.exec(output) ?? [];
  return JSON.parse(result) as Outcomes;
}

const all = Object.keys(behaviours) as Behaviour[];

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
  it.each(all)("a function of a receiver that %s does not end the process", async (behaviour) => {
    // What a handler returns is not looked at.
    const expected = behaviour === "returns garbage" ? { ...ofReceiver, handler: "200 done" } : ofReceiver;
    expect(await outcomesOf("receiver", behaviour)).toEqual(expected);
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
  it.each(all)("a function of a mock that %s does not end the process", async (behaviour) => {
    expect(await outcomesOf("mock", behaviour)).toEqual({ ...ofMock, ...exceptions[behaviour] });
  });

  it.each<[Behaviour, Outcomes]>(
    all.map((behaviour) => [
      behaviour,
      {
        apiKey: keyOutcomes[behaviour] ?? "API_KEY_UNAVAILABLE",
        fetch: fetchOutcomes[behaviour] ?? "NETWORK_FAILED",
        "uploads.upload onProgress": progressOutcomes[behaviour] ?? "ON_PROGRESS_FAILED",
        "tasks.waitFor onProgress": progressOutcomes[behaviour] ?? "ON_PROGRESS_FAILED",
      },
    ]),
  )("a function of a client that %s does not end the process", async (behaviour, expected) => {
    expect(await outcomesOf("sdk", behaviour)).toEqual(expected);
  });
});

type ByBehaviour = Partial<Record<Behaviour, string>>;
const late = { "never settles": "DEADLINE_EXCEEDED" };
const keyOutcomes: ByBehaviour = { ...late, "returns garbage": "CONFIGURATION_INVALID" };
const fetchOutcomes: ByBehaviour = { ...late, "returns garbage": "RESPONSE_INVALID" };
const progressOutcomes: ByBehaviour = { ...late, "returns garbage": "done" };
