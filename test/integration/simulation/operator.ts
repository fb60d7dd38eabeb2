import type { ReconcileClient, ReconcileOptions } from "@workspace-tasks/receiver-kit";
import type { Receivers } from "./receivers.ts";
import { callMsMax } from "./sdk-process.ts";
import type { Service } from "./service.ts";
import { mainTenant, type SimulationWorld } from "./world.ts";

/** The person who registers endpoints, rotates secrets, pauses and resumes, with the SDK. */
export interface Operator {
  /** Registers an endpoint for the receivers; retries until it exists. */
  register(): Promise<void>;
  /** Registers an endpoint elsewhere with a label as its description, once, and remembers the outcome. */
  registerLabelled(): void;
  rotate(graceSeconds: number): Promise<void>;
  setEnabled(enabled: boolean): Promise<void>;
  reconcile(options: ReconcileOptions): Promise<void>;
  /** Ids of the tasks that reconciling has asked for. */
  readonly askedTaskIds: Set<string>;
  /** How many endpoints with a label may exist, by the outcome of its registration. */
  readonly labels: ReadonlyMap<string, "one" | "none" | "at most one">;
}

export const receiverUrl = "https://receiver.example/webhooks";
export const elsewhereUrl = "https://elsewhere.example/webhooks";

export function createOperator(world: SimulationWorld, service: Service, receivers: Receivers): Operator {
  const { clock, trace } = world;
  const random = world.random.stream("operator");
  const labels = new Map<string, "one" | "none" | "at most one">();
  const secrets = new Map<string, string>();
  let rotating = false;
  const sdk = () => random.sample(service.sdkProcesses)!;
  const wait = (delayMs: number) => new Promise<void>((resolve) => clock.schedule(delayMs, resolve));

  const installSecret = async (endpointId: string, secret: string, graceSeconds: number) => {
    const old = secrets.get(endpointId);
    secrets.set(endpointId, secret);
    // Installing takes time; until then both secrets sign, if there is a grace period.
    await wait(random.integer(0, 5_000));
    receivers.secrets.add(secret);
    trace.log("the receivers get a new secret");
    if (old === undefined) return;
    await wait(graceSeconds * 1_000);
    receivers.secrets.remove(old);
    trace.log("an old secret is removed from the receivers");
  };

  /** Rotates again when the response was lost: that issues another secret. */
  const rotate = async (endpointId: string, gracePeriodSeconds: number): Promise<void> => {
    for (;;) {
      const { client, call } = sdk();
      const rotation = () => client.webhooks.endpoints.rotateSecret(endpointId, { gracePeriodSeconds });
      const result = await call("rotate the secret", callMsMax, rotation);
      if (result.ok) return void installSecret(endpointId, result.value.signingSecret, gracePeriodSeconds);
      if (result.code === "NOT_FOUND") return;
      await wait(60_000);
    }
  };

  const askedTaskIds = new Set<string>();

  return {
    labels,
    askedTaskIds,
    async register() {
      for (;;) {
        const { client, call } = sdk();
        const registration = () => client.webhooks.endpoints.create({ url: receiverUrl });
        const result = await call("register an endpoint", callMsMax, registration);
        if (result.ok) {
          const { endpoint, signingSecret } = result.value;
          service.endpointIds.push(endpoint.id);
          return installSecret(endpoint.id, signingSecret, 0);
        }
        await wait(60_000);
      }
    },
    registerLabelled() {
      const label = `label-${labels.size + 1}`;
      labels.set(label, "at most one");
      const { client, call } = sdk();
      const input = { url: elsewhereUrl, description: label, eventTypes: ["documents.synced"] };
      const registration = () => client.webhooks.endpoints.create(input);
      void call(`register ${label}`, callMsMax, registration).then((result) => {
        if (result.ok) labels.set(label, "one");
        else if (result.outcome !== "unknown") labels.set(label, "none");
      });
    },
    async rotate(graceSeconds) {
      const endpointId = service.endpointIds[0];
      // One rotation at a time: of two in flight, the newer secret could not be told from the older.
      if (endpointId === undefined || rotating || !secrets.has(endpointId)) return;
      rotating = true;
      await rotate(endpointId, graceSeconds).finally(() => {
        rotating = false;
      });
    },
    async setEnabled(enabled) {
      for (const endpointId of service.endpointIds) {
        const { client, call } = sdk();
        const update = () => client.webhooks.endpoints.update(endpointId, { enabled });
        await call(enabled ? "resume the endpoint" : "pause the endpoint", callMsMax, update);
      }
    },
    async reconcile(options) {
      const { receiver } = random.sample(receivers.running())!;
      try {
        const tenant = world.settings.tenants
          ? { id: mainTenant, workspaceId: service.mock.workspaceId }
          : undefined;
        const report = await receiver.reconcile(withWrongTimes(world, sdk().client, askedTaskIds), {
          runningForMs: 60_000,
          tenant,
          ...options,
        });
        trace.log(`reconciling ends: ${JSON.stringify(report)}`);
      } catch (error) {
        const { code, message } = error as { code?: string; message?: string };
        trace.log(`reconciling fails: ${code ?? message}`);
      }
    },
  };
}

type ListedTask =
  ReturnType<ReconcileClient["tasks"]["list"]> extends AsyncIterable<infer Task> ? Task : never;

/** The client as reconciling sees it: some tasks have wrong times or states while faults are on. Which it asks for is recorded. */
function withWrongTimes(
  world: SimulationWorld,
  client: ReconcileClient,
  asked: Set<string>,
): ReconcileClient {
  const random = world.random.stream(`wrong times/${world.clock.now()}`);
  const change = (task: ListedTask): ListedTask => {
    const picked = random.pick<Partial<ListedTask>>([
      { completedAt: "2099-01-01T00:00:00.000Z" },
      { completedAt: "yesterday" },
      { startedAt: "2099-01-01T00:00:00.000Z" },
      { startedAt: "1970-01-01T00:00:00.000Z" },
      { completedAt: task.completedAt && new Date(Date.parse(task.completedAt) - 3_600_000).toISOString() },
      { status: "RUNNING", completedAt: null },
    ]);
    return world.faultOccurs("wrongTime", random) ? { ...task, ...picked } : task;
  };
  return {
    me: () => client.me?.() ?? Promise.resolve(),
    tasks: {
      async *list(options) {
        for (const id of options.ids ?? []) asked.add(id);
        for await (const task of client.tasks.list(options)) yield change(task);
      },
    },
  };
}
