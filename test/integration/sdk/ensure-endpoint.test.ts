import type { WorkspaceTasksClient } from "@workspace-tasks/sdk";
import { describe, expect, it } from "vitest";
import { atDepth } from "../../support/depth.ts";
import { createRandom } from "../simulation/random.ts";
import {
  compareAndSwap,
  createEndpointScenario,
  type EndpointScenario,
  runProcesses,
  type Step,
  type SteppedProcess,
  type StoreRules,
  url,
  type Work,
} from "./stepped-endpoints.ts";

const ensure: Work = (client, secrets) => client.webhooks.ensureEndpoint({ url, secrets });
const rotate: Work = (client, secrets) => client.webhooks.rotateEndpointSecret({ secrets });
const ensureOther: Work = (client, secrets) =>
  client.webhooks.ensureEndpoint({ url, secrets, description: "all of us", eventTypes: ["task.running"] });

const create = (client: WorkspaceTasksClient) => client.webhooks.endpoints.create({ url });
const createTwins: Work = async (client, secrets) => {
  await ensure(client, secrets);
  await create(client);
  await create(client);
};

/** What the documents showed before: the secret is lost between `create` and the store. */
const listAndCreate: Work = async (client, secrets) => {
  const endpoints = await client.webhooks.endpoints.list().toArray();
  if (endpoints.some((endpoint) => endpoint.url === url)) return;
  const { endpoint, signingSecret: secret } = await create(client);
  const stored = { version: 1, url, endpointId: endpoint.id, secrets: [{ secret }], pending: null };
  await secrets.write(JSON.stringify(stored), null);
};

const lastWriteWins: StoreRules = (state) => ({
  read: async () => state.text,
  async write(next) {
    state.text = next;
  },
});

/** Pretends to store the marker, and compares with the text without it. */
const withoutMarkers: StoreRules = (state) => {
  const unmarked = (text: string | null) =>
    text === null ? null : JSON.stringify({ ...JSON.parse(text), pending: null });
  const { read, write } = compareAndSwap(state);
  return {
    read,
    write: async (next, previous) =>
      unmarked(next) === unmarked(previous) || write(unmarked(next) ?? "", state.text),
  };
};

interface Sweep {
  readonly before?: Work;
  readonly work: Work;
  readonly restart?: Work;
  readonly rules?: StoreRules;
  readonly what?: Step;
}

async function runAlone(scenario: EndpointScenario, work: Work, what: Step = "go", at = -1) {
  const process = await scenario.start(work);
  let steps = 0;
  await runProcesses(scenario, [process], ([first]) => [
    first as SteppedProcess,
    steps++ === at ? what : "go",
  ]);
  return { ...process, wasReached: steps > at };
}

/** Disturbs each step of `work` in turn, starts the process again where it has failed, and says what is wrong then. */
async function sweep({ before, work, restart = ensure, rules, what = "kill" }: Sweep) {
  const faults: string[] = [];
  for (let at = 0; ; at += 1) {
    await using scenario = await createEndpointScenario(rules);
    if (before) await runAlone(scenario, before);
    const { isKilled, error, wasReached } = await runAlone(scenario, work, what, at);
    if (isKilled || error) expect((await runAlone(scenario, restart)).error).toBeUndefined();
    const fault = await scenario.findFault();
    if (fault) faults.push(`step ${at}: ${fault}`);
    if (!wasReached) return { steps: at, faults };
  }
}

describe("a process that is disturbed at any one step leaves one endpoint, and its secret in the store", () => {
  const sweeps: readonly (readonly [title: string, sweep: Sweep, stepsMin: number])[] = [
    ["killed at its first start", { work: ensure }, 14],
    [
      "killed at its first start, with a store without compare and swap",
      { work: ensure, rules: lastWriteWins },
      16,
    ],
    ["without responses at its first start", { work: ensure, what: "lose response" }, 14],
    ["killed in a rotation", { before: ensure, work: rotate }, 8],
    ["killed in a rotation that is repeated", { before: ensure, work: rotate, restart: rotate }, 8],
    ["without responses in a rotation", { before: ensure, work: rotate, what: "lose response" }, 8],
    [
      "killed while it changes events and deletes twins",
      { before: createTwins, work: ensureOther, restart: ensureOther },
      10,
    ],
    ["killed after the store was emptied", { before: (client) => create(client), work: ensure }, 14],
  ];
  it.each(sweeps)("%s", async (_, given, stepsMin) => {
    const { steps, faults } = await sweep(given);
    expect(faults).toEqual([]);
    expect(steps).toBeGreaterThanOrEqual(stepsMin);
  });

  it("control: with a plain create, or without markers, a second endpoint or a lost secret is found", async () => {
    const plain = await sweep({ work: listAndCreate, restart: listAndCreate });
    expect(plain.faults).toContainEqual(expect.stringContaining("no secret in the store"));
    const unmarked = await sweep({ before: ensure, work: rotate, rules: withoutMarkers });
    expect(unmarked.faults).toContainEqual(
      expect.stringContaining("SIGNATURE_MISMATCH after the grace period"),
    );
  });
});

/** Two processes at once, each killed once at most; those that failed are started again, at once. */
async function interleave(seed: number, given: { work?: readonly Work[]; rules?: StoreRules } = {}) {
  const random = createRandom(seed);
  await using scenario = await createEndpointScenario(given.rules);
  if (random.happens(0.5)) await runAlone(scenario, ensure);
  let isDisturbed = true;
  const choose = (waiting: readonly SteppedProcess[]) => {
    const process = random.sample(waiting) as SteppedProcess;
    const kind = random.number();
    if (!isDisturbed || kind > 0.12) return [process, "go"] as const;
    if (kind > 0.1) return [process, "pause"] as const;
    return [process, kind > 0.04 ? "lose response" : "kill"] as const;
  };
  const works = given.work ?? [ensure, rotate];
  let pending: readonly Work[] = [works[0] ?? ensure, random.sample(works) ?? ensure];
  for (let round = 0; pending.length > 0 && round < 5; round += 1) {
    const processes = [];
    for (const work of pending) processes.push(await scenario.start(work));
    await runProcesses(scenario, processes, choose);
    isDisturbed = false;
    pending = processes.filter(({ isKilled, error }) => isKilled || error).map(() => works[0] ?? ensure);
  }
  if (pending.length > 0) return "a process fails at each start";
  // Awaited, because the scenario ends with this function.
  return await scenario.findFault();
}

describe("two processes at once", () => {
  it("leave one endpoint, and its secret in the store, in every order of their steps", async () => {
    const faults: string[] = [];
    for (let seed = 1; seed <= atDepth(60, 2_500); seed += 1) {
      const fault = await interleave(seed);
      if (fault) faults.push(`seed ${seed}: ${fault}`);
    }
    expect(faults).toEqual([]);
  }, 300_000);

  it("lose no secret when one is paused until the other has taken over", async () => {
    await using scenario = await createEndpointScenario();
    await runAlone(scenario, create);
    const go = ([first]: readonly SteppedProcess[]) => [first as SteppedProcess, "go"] as const;
    const late = await scenario.start(ensure);
    // Both sides of read, list and write: next is the request for a secret.
    for (let steps = 0; steps < 6; steps += 1) {
      late.step("go");
      await scenario.settle();
    }
    late.pause();
    await scenario.clock.advance(40_000);
    await runProcesses(scenario, [await scenario.start(ensure)], go);
    late.step("go");
    await scenario.settle();
    late.resume();
    await runProcesses(scenario, [late], go);
    expect(late.error).toBeUndefined();
    expect(await scenario.findFault()).toBeUndefined();
  });

  it("control: plain creates leave two endpoints, and a store without markers loses a secret", async () => {
    const seedOf = async (given: Parameters<typeof interleave>[1], fault: string) => {
      let seed = 1;
      while (seed <= 40 && (await interleave(seed, given)) !== fault) seed += 1;
      return seed;
    };
    expect(await seedOf({ work: [listAndCreate] }, "2 endpoints")).toBeLessThan(40);
    const late = "SIGNATURE_MISMATCH after the grace period";
    expect(await seedOf({ rules: withoutMarkers }, late)).toBeLessThan(40);
  });
});
