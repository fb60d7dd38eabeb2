import type { MockServer } from "@workspace-tasks/mock-server";
import type { Priority } from "@workspace-tasks/sdk";
import { signBytes } from "../../support/signed-delivery.ts";
import type { CapturedRequest } from "./network.ts";
import { type Operator, receiverUrl } from "./operator.ts";
import type { Random } from "./random.ts";
import type { Receivers } from "./receivers.ts";
import { callMsMax } from "./sdk-process.ts";
import type { Service } from "./service.ts";
import { pauseMsMax } from "./simulated-process.ts";
import { mainTenant, type SimulationWorld, storedSource } from "./world.ts";

/** Everything that an action of one run can use. */
export interface SimulationRun {
  readonly world: SimulationWorld;
  readonly service: Service;
  readonly receivers: Receivers;
  readonly operator: Operator;
  readonly random: Random;
}

/** What happens in one step. Changes the service at once; other work is started and not awaited. */
export interface Action {
  readonly name: string;
  readonly weight: number;
  run(run: SimulationRun): unknown;
}

export const actions: readonly Action[] = [
  { name: "start a task", weight: 12, run: startTask },
  { name: "move a task", weight: 14, run: moveTask },
  { name: "move a stage", weight: 6, run: moveStage },
  { name: "send events a microsecond apart", weight: 5, run: sendEventsOfOneMillisecond },
  { name: "send an unusable event", weight: 2, run: sendUnusableEvent },
  { name: "replay a delivery at the service", weight: 2, run: replayDelivery },
  { name: "call the API", weight: 8, run: callApi },
  { name: "call the API in a burst", weight: 3, run: callInBurst },
  { name: "wait for a task", weight: 3, run: waitForTask },
  { name: "register a labelled endpoint", weight: 5, run: ({ operator }) => operator.registerLabelled() },
  { name: "register a second endpoint for the receivers", weight: 2, run: addEndpoint },
  { name: "rotate a secret", weight: 2, run: rotateSecret },
  { name: "pause or resume the endpoint", weight: 2, run: pauseOrResumeEndpoint },
  { name: "replace the API key", weight: 1, run: ({ service }) => service.replaceApiKey() },
  { name: "replace an SDK process", weight: 1, run: replaceSdk },
  { name: "send requests of another client", weight: 2, run: sendAsOtherClient },
  { name: "forge a delivery", weight: 5, run: forgeDelivery },
  { name: "send a captured delivery again", weight: 3, run: resendCaptured },
  { name: "restart dead receiver processes", weight: 10, run: ({ receivers }) => receivers.restart() },
  { name: "close a receiver process", weight: 2, run: closeReceiver },
  { name: "pause a receiver process", weight: 4, run: pauseReceiver },
  { name: "reconcile", weight: 3, run: reconcile },
  { name: "replay a row", weight: 2, run: replayRow },
];

/** Types whose tasks emit events, one that no catalog has yet among them. */
export const taskTypes = [
  "TAX_PREP",
  "BINDER",
  "TAX_REVIEW",
  "TAX_ADVISOR",
  "TAX_PREP_LITE",
  "SOMETHING_NEW",
] as const;
const stageTypes = ["tax-extraction", "reconciliation", "data-entry"] as const;
// U+FFFD is what badly decoded bytes turn into; here it is a genuine part of a text.
const failureTexts = ["unreadable: \uFFFD\uFFFD", "é ü 漢字 🙂 \uFFFD"] as const;

async function startTask({ service, random }: SimulationRun): Promise<void> {
  const progression = random.pick(["manual", "manual", "timed", "immediate"]);
  const { taskId } = await service.mock.control.startTask({ taskType: random.pick(taskTypes), progression });
  if (progression === "manual") service.manualTaskIds.push(taskId);
}

async function moveTask({ service, random }: SimulationRun): Promise<void> {
  const { control } = service.mock;
  const moves = random.pick([1, 1, 2, 3]);
  const taskId = random.sample(service.manualTaskIds);
  // A task may change more than once within one instant.
  for (let move = 0; taskId !== undefined && move < moves; move++) {
    const { status } = await control.getTask(taskId);
    const completes = random.happens(0.6);
    const errorMessage = random.pick(failureTexts);
    if (status === "COMPLETED") return;
    if (status === "FAILED") await control.setTaskStatus(taskId, { status: "RUNNING" });
    else if (completes) await control.setTaskStatus(taskId, { status: "COMPLETED" });
    else await control.setTaskStatus(taskId, { status: "FAILED", errorMessage });
  }
}

async function moveStage({ service, random }: SimulationRun): Promise<void> {
  const { control } = service.mock;
  const running = (await control.listTasks({ status: "RUNNING", limit: 1_000 })).data;
  const runningIds = new Set(running.map(({ taskId }) => taskId));
  const taskId = random.sample(service.manualTaskIds.filter((id) => runningIds.has(id)));
  const status = random.pick(["RUNNING", "COMPLETED", "COMPLETED", "FAILED"]);
  const subTaskType = random.pick(stageTypes);
  if (taskId === undefined) return;
  const { subTasks } = await control.getTask(taskId);
  const isRunning = subTasks.some((stage) => stage.subTaskType === subTaskType && stage.status === "RUNNING");
  if (status === "RUNNING" && isRunning) return;
  await control.setStageStatus(taskId, { subTaskType, status });
}

/** Changes of one task that a clock of milliseconds cannot tell apart, sent in any order. */
async function sendEventsOfOneMillisecond({ world, service, random }: SimulationRun): Promise<void> {
  const second = new Date(world.clock.now() - 1_000).toISOString().slice(0, 20);
  const taskId = `task-${world.trace.nameOf("instant", String(world.clock.now()))}`;
  for (let count = random.integer(2, 4); count > 0; count--) {
    const status = random.pick(["RUNNING", "COMPLETED", "FAILED"]);
    const payload = {
      occurredAt: `${second}${random.pick(["123001", "123002", "1230021", "123"])}Z`,
      clientId: "client",
      taskId,
      taskType: "BINDER",
      status,
      errorMessage: null,
    };
    await service.mock.control.sendEvent({ name: `task.${status.toLowerCase()}`, payload });
  }
}

async function sendUnusableEvent({ world, service, random }: SimulationRun): Promise<void> {
  const future = new Date(world.clock.now() + 86_400_000).toISOString();
  const payload = random.pick<Record<string, unknown>>([
    { unrelated: "field" },
    { taskId: 7, status: "COMPLETED" },
    { clientId: "c", taskId: "odd", taskType: "BINDER", status: "COMPLETED", occurredAt: future },
    { clientId: "c", taskId: "odd", taskType: "BINDER", status: "RUNNING" },
  ]);
  await service.mock.control.sendEvent({ name: "task.completed", payload });
}

function replayDelivery({ service, random }: SimulationRun): void {
  const id = random.sample([...service.eventIds.keys()]);
  // Rejected while the endpoint is disabled.
  if (id !== undefined) service.mock.control.replayDelivery(id).catch(() => {});
}

const callNames = ["me", "list endpoints", "list tasks", "catalog", "update an endpoint"] as const;

/** Drawn from a stream of its own. */
function priorityOf({ world, random }: SimulationRun): Priority {
  return random.stream(`priority/${world.clock.now()}`).pick(["interactive", "normal", "background"]);
}

function callApi(run: SimulationRun): void {
  const { service, random } = run;
  const { client, call } = random.sample(service.sdkProcesses)!;
  const name = random.pick(callNames);
  // A deadline of the call itself, or none: then the limits of its parts bound it.
  const deadlineMs = random.pick([1_000, 30_000, 400_000, undefined]);
  const options = { deadlineMs, priority: priorityOf(run) };
  const { endpoints, catalog } = client.webhooks;
  const endpointId = service.endpointIds[0] ?? "none";
  const runs: Record<(typeof callNames)[number], () => Promise<unknown>> = {
    me: () => client.me(options),
    catalog: () => catalog(options),
    "update an endpoint": () =>
      endpoints.update(endpointId, { description: `at ${random.integer(1, 9)}` }, options),
    "list endpoints": () => firstOf(endpoints.list({ limit: 100 }, options)),
    "list tasks": () => firstOf(client.tasks.list({ limit: 100 }, options)),
  };
  void call(name, deadlineMs ?? callMsMax, runs[name]);
}

/** Reads one page: one call with one deadline. */
async function firstOf<Item>(list: AsyncIterable<Item>): Promise<Item | undefined> {
  for await (const item of list) return item;
  return undefined;
}

function callInBurst(run: SimulationRun): void {
  const { world, service, random } = run;
  const priority = priorityOf(run);
  const { client, call } = random.sample(service.sdkProcesses)!;
  const count = random.integer(2, world.settings.requestsPerWindow * 2);
  for (let sent = 0; sent < count; sent++) void call("me", callMsMax, () => client.me({ priority }));
}

function waitForTask({ service, random }: SimulationRun): void {
  const taskId = random.sample(service.manualTaskIds);
  const deadlineMs = random.pick([10_000, 600_000]);
  const { client, call } = random.sample(service.sdkProcesses)!;
  if (taskId === undefined) return;
  void call("wait for a task", deadlineMs, () => client.tasks.waitFor(taskId, { deadlineMs }));
}

function addEndpoint({ operator, service }: SimulationRun): void {
  if (service.endpointIds.length < 2) void operator.register();
}

function rotateSecret({ operator, random }: SimulationRun): void {
  void operator.rotate(random.pick([0, 60, 3_600]));
}

function pauseOrResumeEndpoint({ operator, random }: SimulationRun): void {
  void operator.setEnabled(random.happens(0.6));
}

function replaceSdk({ world, service, random }: SimulationRun): void {
  const index = random.integer(0, service.sdkProcesses.length - 1);
  if (world.settings.sdkRestarts) service.restartSdk(index);
}

/** Another program with the same API key and without a rate limiter. */
function sendAsOtherClient({ world, service, random }: SimulationRun): void {
  const requests = random.integer(1, world.settings.requestsPerWindow);
  if (!world.settings.otherClient) return;
  world.meet("otherClient");
  void useKey(service.mock, service.apiKey(), requests);
}

async function useKey(mock: MockServer, apiKey: string, requests: number): Promise<void> {
  const send = async (query: string, headers = {}) => {
    const init = { method: "POST", headers: { "content-type": "application/json", ...headers } };
    const response = await mock.fetch("/graphql", { ...init, body: JSON.stringify({ query }) });
    return (await response.json()) as { data?: { tokens?: { workspaceToken: string } } };
  };
  const exchange = `mutation { tokens: exchangeSurfaceRefreshTokenForAccessTokens(refreshToken: ${JSON.stringify(apiKey)}) { workspaceToken } }`;
  try {
    const token = (await send(exchange)).data?.tokens?.workspaceToken;
    for (let sent = 0; sent < requests; sent++) {
      await send("{ me { __typename } }", { authorization: `Bearer ${token}` });
    }
  } catch {
    // The other client meets faults too, and does not retry.
  }
}

/** Sends a delivery without a signature by a valid secret. */
function forgeDelivery({ world, receivers, random }: SimulationRun): void {
  const point = random.number();
  const model = receivers.network.captured[Math.floor(point * receivers.network.captured.length)];
  const kind = random.pick(["foreign secret", "retired secret", "another body", "another id"]);
  if (!model) return;
  world.meet("forgery");
  const { headers, body } = model;
  const id = world.trace.nameOf("forgery", String(point));
  if (kind === "another body") {
    send(receivers, { headers, body: Buffer.concat([body, Buffer.from(" ")]) });
  } else if (kind === "another id") {
    send(receivers, { headers: { ...headers, "webhook-id": id }, body });
  } else {
    const secret = kind === "retired secret" ? receivers.secrets.retired().at(-1) : undefined;
    const timestamp = String(Math.floor(world.clock.now() / 1_000));
    const signature = signBytes(secret ?? foreignSecret, `${id}.${timestamp}.`, body);
    const signed = { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signature };
    send(receivers, { headers: { ...headers, ...signed }, body });
  }
}

const foreignSecret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;

function send({ network }: Receivers, { headers, body }: CapturedRequest): void {
  const { "content-length": _, ...rest } = headers;
  const request = new Request(receiverUrl, { method: "POST", headers: rest, body: new Uint8Array(body) });
  network.deliver(request).catch(() => {}); // the attacker does not read the response
}

function resendCaptured({ receivers, random }: SimulationRun): void {
  const model = random.sample(receivers.network.captured);
  if (model) send(receivers, model);
}

function closeReceiver({ receivers, random }: SimulationRun): void {
  const receiver = random.sample(receivers.running());
  if (receiver?.process.state === "running") receivers.close(receiver);
  receivers.restart();
}

function pauseReceiver({ world, receivers, random }: SimulationRun): void {
  const receiver = random.sample(receivers.running());
  const forMs = random.integer(1_000, pauseMsMax);
  if (world.faultOccurs("pause", random)) receiver?.process.pause(forMs);
}

function reconcile({ operator, receivers, random }: SimulationRun): void {
  const sinceMs = random.pick([0, 3_600_000, undefined]);
  if (receivers.running().length > 0) void operator.reconcile({ sinceMs });
}

function replayRow({ world, receivers, random }: SimulationRun): void {
  const point = random.number();
  const receiver = receivers.running()[0]?.receiver;
  if (!receiver) return;
  const source = storedSource(world.settings);
  const tenant = world.settings.tenants ? mainTenant : undefined;
  void receivers.store.list({ source, states: ["dead", "quarantined", "done"], limit: 20 }).then((rows) => {
    const row = rows[Math.floor(point * rows.length)];
    if (!row) return;
    world.trace.log(`${world.trace.nameOf("delivery", row.id)} is replayed`);
    receiver.replay(row.id, { tenant }).catch(() => {});
  });
}
