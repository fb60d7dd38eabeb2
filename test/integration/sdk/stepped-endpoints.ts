import { setImmediate as nextTurn } from "node:timers/promises";
import { createMockServer, type MockServer } from "@workspace-tasks/mock-server";
import { createVerifier } from "@workspace-tasks/receiver-kit";
import {
  createClient,
  readSigningSecrets,
  type SecretStore,
  type WorkspaceTasksClient,
} from "@workspace-tasks/sdk";
import { createVirtualClock, type VirtualClock } from "../../../mock-server/time/virtual-clock.ts";

export const url = "https://receiver.example/webhooks";

/** What happens at a step: one side of a request, or of an operation of the store. */
export type Step = "go" | "kill" | "lose response" | "pause";

/** A process as the service and the store see it: it takes a step when it is told to. */
export interface SteppedProcess {
  readonly isWaiting: boolean;
  readonly isKilled: boolean;
  readonly isSettled: boolean;
  readonly error: unknown;
  step(what: Step): void;
  /** As SIGSTOP does: its time limits wait for `resume`. */
  pause(): void;
  resume(): void;
}

export interface EndpointScenario extends AsyncDisposable {
  readonly mock: MockServer;
  readonly clock: VirtualClock;
  readonly store: { text: string | null };
  /** Begins to run `work` in a process of its own, with its own key. */
  start(work: Work): Promise<SteppedProcess>;
  /** Waits until every process waits for a step, a timer or nothing more. */
  settle(): Promise<void>;
  /** Why a receiver with the secrets in the store, or the endpoint itself, is not right; `undefined` when both are. */
  findFault(): Promise<string | undefined>;
}

export type Work = (client: WorkspaceTasksClient, store: SecretStore) => Promise<unknown>;

/** The store of a scenario; `wrapStore` replaces its rules. */
export type StoreRules = (state: { text: string | null }) => SecretStore;

export const compareAndSwap: StoreRules = (state) => ({
  read: async () => state.text,
  async write(next, previous) {
    if (state.text !== previous) return false;
    state.text = next;
    return true;
  },
});

export async function createEndpointScenario(rules: StoreRules = compareAndSwap): Promise<EndpointScenario> {
  const clock = createVirtualClock();
  const deliveries: { headers: Record<string, string>; body: Uint8Array }[] = [];
  const receive = async (request: Request) => {
    deliveries.push({
      headers: Object.fromEntries(request.headers),
      body: new Uint8Array(await request.arrayBuffer()),
    });
    return new Response(null, { status: 204 });
  };
  const mock = await createMockServer({ listen: false, clock, receivers: new Map([[url, receive]]) });
  const state = { text: null as string | null };
  const store = rules(state);

  async function settle(): Promise<void> {
    for (let turn = 0; turn < 3; turn += 1) {
      await nextTurn();
      await clock.settle();
    }
  }

  async function verifyNext(): Promise<string | undefined> {
    deliveries.length = 0;
    await mock.control.startTask({ taskType: "BINDER", progression: "manual" });
    await clock.advance(1_000);
    const [delivery] = deliveries;
    if (deliveries.length !== 1 || !delivery) return `${deliveries.length} deliveries of one event`;
    const secrets = readSigningSecrets(state.text, clock.now());
    if (secrets.length === 0) return "no secret in the store";
    const { verify } = createVerifier({ secrets, clock });
    return verify(delivery.body, delivery.headers).then(
      () => undefined,
      (error: { code: string }) => error.code,
    );
  }

  return {
    mock,
    clock,
    store: state,
    settle,
    async start(work) {
      const { apiKey } = await mock.control.createApiKey({});
      const process = createSteppedProcess();
      const gated =
        <Arguments extends unknown[], Result>(run: (...given: Arguments) => Promise<Result>) =>
        async (...given: Arguments): Promise<Result> => {
          await process.gate();
          const result = await run(...given);
          if ((await process.gate()) === "lose response") throw new TypeError("fetch failed");
          return result;
        };
      const client = createClient({
        apiKey,
        baseUrl: mock.baseUrl,
        clock: {
          now: clock.now,
          monotonic: clock.monotonic,
          schedule: (delayMs, run) => clock.schedule(delayMs, () => process.fire(run)),
        },
        random: process.random,
        rateLimit: false,
        // Tokens are not what is tested.
        fetch: (target, init) =>
          String(init.body).includes("exchangeSurface")
            ? mock.fetch(target, init as RequestInit)
            : gated(mock.fetch)(target, init as RequestInit),
      });
      // A store that loses its response has failed, so the text is written all the same.
      const own = { read: gated(store.read), write: gated(store.write) };
      process.run(work(client, own));
      await settle();
      return process;
    },
    async findFault() {
      const { data } = await mock.control.listEndpoints({});
      if (data.length !== 1) return `${data.length} endpoints`;
      const fault = await verifyNext();
      if (fault) return fault;
      await clock.advance("49h");
      const later = await verifyNext();
      return later && `${later} after the grace period`;
    },
    [Symbol.asyncDispose]: () => mock.close(),
  };
}

let processes = 0;

function createSteppedProcess() {
  const seed = ++processes;
  // What a time limit has ended still waits, and happens late.
  const waiting: ((what: Step) => void)[] = [];
  let held: (() => void)[] | undefined;
  const process = {
    fire(run: () => void) {
      if (held) held.push(run);
      else run();
    },
    pause() {
      held = [];
    },
    resume() {
      const due = held ?? [];
      held = undefined;
      for (const run of due) run();
    },
    isKilled: false,
    isSettled: false,
    error: undefined as unknown,
    get isWaiting() {
      return waiting.length > 0;
    },
    random: () => (seed * 0.618_033_988_749) % 1,
    gate(): Promise<Step> {
      // A killed process runs into it again when a time limit of its client has passed.
      if (process.isKilled) return new Promise(() => {});
      return new Promise((resolve) => {
        waiting.push(resolve);
      });
    },
    step(what: Step) {
      if (what === "kill") process.isKilled = true;
      else waiting.shift()?.(what);
    },
    run(work: Promise<unknown>) {
      const settled = (error?: unknown) => {
        process.isSettled = true;
        process.error = error;
      };
      work.then(() => settled(), settled);
    },
  };
  return process;
}

/** Lets processes take steps, in the order and the way that `choose` says, until all have settled or are killed. */
export async function runProcesses(
  scenario: EndpointScenario,
  processes: readonly SteppedProcess[],
  choose: (waiting: readonly SteppedProcess[]) => readonly [SteppedProcess, Step],
): Promise<void> {
  for (let steps = 0; steps < 5_000; steps += 1) {
    const running = processes.filter(({ isSettled, isKilled }) => !isSettled && !isKilled);
    if (running.length === 0) return;
    const waiting = running.filter(({ isWaiting }) => isWaiting);
    if (waiting.length === 0) await scenario.clock.advance(250);
    else {
      const [process, what] = choose(waiting);
      // Longer than any time limit of a process that waits.
      if (what === "pause") await scenario.clock.advance(40_000);
      else process.step(what);
    }
    await scenario.settle();
  }
  throw new Error("the processes did not settle within 5,000 steps");
}
