// Random calls of the API, each compared with a model of the service: what the interface says about endpoints, their
// secrets, tasks and lists, in a hundred lines and without any code of the mock.

import { createMockServer, createVirtualClock, type MockServer } from "workspace-tasks/mock-server";
import { createClient, isWorkspaceTasksError, type WorkspaceTasksClient } from "workspace-tasks/sdk";
import { createRandom, type Random } from "./random.ts";

interface ModelEndpoint {
  readonly id: string;
  url: string;
  description: string;
  enabled: boolean;
  eventTypes: readonly string[] | null;
}

interface ModelTask {
  readonly id: string;
  readonly type: string;
  status: "RUNNING" | "COMPLETED" | "FAILED";
}

/** What the service is expected to know, in the order of creation. */
interface Model {
  readonly endpoints: ModelEndpoint[];
  readonly deleted: string[];
  readonly secrets: Set<string>;
  readonly tasks: ModelTask[];
}

export interface ModelRun {
  readonly calls: readonly string[];
  /** The first difference between the service and the model. */
  readonly difference: string | undefined;
}

interface Step {
  readonly client: WorkspaceTasksClient;
  readonly mock: MockServer;
  readonly model: Model;
  readonly random: Random;
}

/** Makes `count` random calls; ends at the first difference. */
export async function runApiModel(seed: number, count: number): Promise<ModelRun> {
  const random = createRandom(seed, "api model");
  const clock = createVirtualClock();
  await using mock = await createMockServer({
    listen: false,
    clock,
    seed,
    settings: { rateLimit: { requests: 1_000_000 } },
  });
  const { apiKey, baseUrl, fetch } = mock;
  await using client = createClient({ apiKey, baseUrl, fetch, clock, rateLimit: false });
  const model: Model = { endpoints: [], deleted: [], secrets: new Set(), tasks: [] };
  const calls: string[] = [];
  for (let made = 0; made < count; made++) {
    const [name, call] = random.pick(Object.entries(steps) as [[string, StepRun], ...[string, StepRun][]]);
    calls.push(name);
    try {
      await call({ client, mock, model, random });
    } catch (error) {
      if (!(error instanceof Difference) && !isWorkspaceTasksError(error)) throw error;
      return { calls, difference: `${name}: ${error.message}` };
    }
  }
  return { calls, difference: undefined };
}

class Difference extends Error {}

function same(what: string, found: unknown, expected: unknown): void {
  const [left, right] = [JSON.stringify(found), JSON.stringify(expected)];
  if (left !== right) throw new Difference(`${what}: expected ${right}, got ${left}`);
}

async function codeOf(call: Promise<unknown>): Promise<string> {
  try {
    await call;
    return "none";
  } catch (error) {
    if (isWorkspaceTasksError(error)) return error.code;
    throw error;
  }
}

type StepRun = (step: Step) => Promise<void>;

const events = ["task.running", "task.completed", "task.failed", "documents.synced"] as const;
const taskTypes = ["TAX_PREP", "BINDER", "constructor", "__proto__"] as const;

const viewOf = ({ id, url, description, enabled, eventTypes }: ModelEndpoint) => [
  ...[id, url, description, enabled, eventTypes],
];

const steps: Readonly<Record<string, StepRun>> = {
  async "create an endpoint"({ client, model, random }) {
    const url = `https://receiver-${random.integer(1, 9)}.example/${model.endpoints.length}`;
    const description = random.pick([undefined, "a", "é 🙂"]);
    const eventTypes = random.pick<readonly string[] | undefined>([
      undefined,
      [events[0]],
      [events[1], events[3]],
    ]);
    const { endpoint, signingSecret } = await client.webhooks.endpoints.create({
      ...{ url, ...(description !== undefined && { description }) },
      ...(eventTypes && { eventTypes: [...eventTypes] }),
    });
    const { id } = endpoint;
    const added = { id, url, description: description ?? "", enabled: true, eventTypes: eventTypes ?? null };
    same("the endpoint", viewOf({ ...endpoint }), viewOf(added));
    same(
      "a new id",
      model.endpoints.some((other) => other.id === id),
      false,
    );
    same("a new secret", model.secrets.has(signingSecret), false);
    model.endpoints.push(added);
    model.secrets.add(signingSecret);
  },
  async "update an endpoint"({ client, model, random }) {
    const endpoint = random.sample(model.endpoints);
    if (!endpoint) return;
    const input = random.pick<Partial<ModelEndpoint> & { readonly description?: string }>([
      { enabled: false },
      { enabled: true },
      { description: "changed" },
      { url: "https://elsewhere.example/" },
      { eventTypes: [events[2]] },
      { eventTypes: null },
    ]);
    const updated = await client.webhooks.endpoints.update(endpoint.id, input as { enabled: boolean });
    Object.assign(endpoint, input);
    same("the endpoint", viewOf({ ...updated }), viewOf(endpoint));
  },
  async "delete an endpoint"({ client, model, random }) {
    const endpoint = random.sample(model.endpoints);
    if (!endpoint) return;
    same("the result", await client.webhooks.endpoints.delete(endpoint.id), true);
    model.endpoints.splice(model.endpoints.indexOf(endpoint), 1);
    model.deleted.push(endpoint.id);
  },
  async "use a deleted endpoint"({ client, model, random }) {
    const id = random.sample(model.deleted);
    if (id === undefined) return;
    const { endpoints } = client.webhooks;
    same("update", await codeOf(endpoints.update(id, { enabled: true })), "NOT_FOUND");
    same("rotate", await codeOf(endpoints.rotateSecret(id)), "NOT_FOUND");
    same("delete", await codeOf(endpoints.delete(id)), "NOT_FOUND");
  },
  async "rotate a secret"({ client, model, random }) {
    const endpoint = random.sample(model.endpoints);
    if (!endpoint) return;
    const rotated = await client.webhooks.endpoints.rotateSecret(endpoint.id, {
      gracePeriodSeconds: random.pick([0, 60, 604_800]),
    });
    same("a new secret", model.secrets.has(rotated.signingSecret), false);
    model.secrets.add(rotated.signingSecret);
  },
  async "list the endpoints in pages"({ client, model, random }) {
    const found = await client.webhooks.endpoints.list({ limit: random.pick([1, 2, 7, 100]) }).toArray();
    const sorted = (all: readonly ModelEndpoint[]) =>
      all
        .map(viewOf)
        .map((view) => JSON.stringify(view))
        .sort();
    same("the endpoints", sorted(found.map((endpoint) => ({ ...endpoint }))), sorted(model.endpoints));
  },
  async "list with a cursor that is none"({ client }) {
    const list = client.webhooks.endpoints.list({ iterator: "zzz" });
    same("the error", await codeOf(list.toArray()), "ITERATOR_INVALID");
  },
  async "start a task"({ mock, model, random }) {
    const type = random.pick(taskTypes);
    const { taskId } = await mock.control.startTask({ taskType: type, progression: "manual" });
    same(
      "a new id",
      model.tasks.some(({ id }) => id === taskId),
      false,
    );
    model.tasks.push({ id: taskId, type, status: "RUNNING" });
  },
  async "end a task"({ mock, model, random }) {
    const task = random.sample(model.tasks.filter(({ status }) => status === "RUNNING"));
    if (!task) return;
    const failed = random.happens(0.5);
    if (failed) await mock.control.setTaskStatus(task.id, { status: "FAILED", errorMessage: "unreadable" });
    else await mock.control.setTaskStatus(task.id, { status: "COMPLETED" });
    task.status = failed ? "FAILED" : "COMPLETED";
  },
  async "list the tasks"({ client, model, random }) {
    const status = random.pick<ModelTask["status"] | undefined>([
      undefined,
      "RUNNING",
      "COMPLETED",
      "FAILED",
    ]);
    const listed = client.tasks.list({
      limit: random.pick([1, 3, 50]),
      ...(status && { statuses: [status] }),
    });
    const view = (tasks: readonly { id: string; type: string; status: string }[]) =>
      tasks.map((task) => [task.id, task.type, task.status].join(" ")).sort();
    const expected = model.tasks.filter((task) => status === undefined || task.status === status);
    same("the tasks", view(await listed.toArray()), view(expected));
  },
  async "get a task"({ client, model, random }) {
    const task = random.sample(model.tasks);
    if (!task) return;
    const { status, type } = await client.tasks.get(task.id);
    same("the task", [status, type], [task.status, task.type]);
  },
};
