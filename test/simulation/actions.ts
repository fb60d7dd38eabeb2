import type { MockServer } from "workspace-tasks/mock-server";
import type { Chance } from "./chance.ts";
import { type CapturedRequest, sign } from "./delivery-road.ts";
import { callMsMax, type Operator, receiverUrl } from "./operator.ts";
import { stallMsMax } from "./process-life.ts";
import type { ReceiverSide } from "./receiver-side.ts";
import { type Scene, source } from "./scene.ts";
import type { ServiceSide } from "./service-side.ts";

export type Stage = {
  readonly scene: Scene;
  readonly service: ServiceSide;
  readonly site: ReceiverSide;
  readonly operator: Operator;
  readonly chance: Chance;
};

/** Takes one step: whoever acts begins what it does and does not wait for its end. */
export type Actor = { readonly name: string; readonly weight: number; act(stage: Stage): void };

/** Everybody who acts on the stage, and how often. */
export const actors: readonly Actor[] = [
  { name: "a task starts", weight: 12, act: startTask },
  { name: "a task moves", weight: 14, act: moveTask },
  { name: "a stage finishes", weight: 6, act: moveStage },
  { name: "events a microsecond apart", weight: 5, act: sendFineEvents },
  { name: "an event that cannot be used", weight: 2, act: sendOddEvent },
  { name: "a delivery is sent again by hand", weight: 2, act: replayDelivery },
  { name: "a call", weight: 8, act: callSomething },
  { name: "a burst of calls", weight: 3, act: burst },
  { name: "a wait for a task", weight: 3, act: waitForTask },
  { name: "a labelled registration", weight: 5, act: ({ operator }) => operator.createLabelled() },
  { name: "a second endpoint of the same receiver", weight: 2, act: addEndpoint },
  { name: "a secret is rotated", weight: 2, act: rotate },
  { name: "the endpoint is paused or resumed", weight: 2, act: pauseOrResume },
  { name: "the key is renewed", weight: 1, act: ({ service }) => service.renewKey() },
  { name: "an SDK process is replaced", weight: 1, act: replaceSdk },
  { name: "a rival uses the key", weight: 2, act: rival },
  { name: "somebody forges a delivery", weight: 5, act: forge },
  { name: "somebody sends a captured delivery again", weight: 3, act: replayCaptured },
  { name: "receiver processes are restarted", weight: 10, act: ({ site }) => site.restart() },
  { name: "a receiver process closes", weight: 2, act: closeReceiver },
  { name: "a receiver process stands still", weight: 4, act: stallReceiver },
  { name: "a reconciliation", weight: 3, act: reconcile },
  { name: "an operator replays an event", weight: 2, act: replayRow },
];

const taskTypes = ["TAX_PREP", "BINDER", "TAX_REVIEW", "TAX_ADVISOR", "TAX_PREP_LITE", "SOMETHING_NEW"];
const stageTypes = ["tax-extraction", "reconciliation", "data-entry"];
// U+FFFD: the character that badly decoded bytes turn into, here as an honest part of a text.
const failureTexts = ["no such document", "unreadable: \uFFFD\uFFFD", "é ü 漢字 🙂"];

function startTask({ service, chance }: Stage): void {
  const progression = chance.pick(["manual", "manual", "timed", "immediate"] as const);
  const { taskId } = service.mock.admin.startTask({ taskType: chance.pick(taskTypes), progression });
  if (progression === "manual") service.manualTaskIds.push(taskId);
}

function moveTask({ service, chance }: Stage): void {
  const { admin } = service.mock;
  const moves = chance.pick([1, 1, 2, 3]);
  const taskId = service.manualTaskIds.at(-1 - Math.floor(chance.number() * service.manualTaskIds.length));
  // Several changes of a task may follow each other within one instant.
  for (let move = 0; taskId !== undefined && move < moves; move++) {
    const { status } = admin.task(taskId);
    const completes = chance.happens(0.6);
    const errorMessage = chance.pick(failureTexts);
    if (status === "COMPLETED") return;
    if (status === "FAILED") admin.moveTask(taskId, { status: "RUNNING" });
    else if (completes) admin.moveTask(taskId, { status: "COMPLETED" });
    else admin.moveTask(taskId, { status: "FAILED", errorMessage });
  }
}

function moveStage({ service, chance }: Stage): void {
  const running = service.manualTaskIds.filter((id) => service.mock.admin.task(id).status === "RUNNING");
  const draw = chance.number();
  const taskId = running[Math.floor(draw * running.length)];
  const status = chance.pick(["RUNNING", "COMPLETED", "COMPLETED", "FAILED"] as const);
  const subTaskType = chance.pick(stageTypes);
  if (taskId === undefined) return;
  const { subTasks } = service.mock.admin.task(taskId);
  const runs = subTasks.some((stage) => stage.subTaskType === subTaskType && stage.status === "RUNNING");
  if (status === "RUNNING" && runs) return;
  service.mock.admin.moveStage(taskId, { subTaskType, status });
}

/** Changes of one task that a clock of milliseconds cannot tell apart, sent in any order. */
function sendFineEvents({ scene, service, chance }: Stage): void {
  const second = new Date(scene.clock.now() - 1_000).toISOString().slice(0, 20);
  const taskId = `fine-${scene.trace.nameOf("fine", String(scene.clock.now()))}`;
  const micros = ["123001", "123002", "1230021", "123"];
  for (let count = chance.integer(2, 4); count > 0; count--) {
    const status = chance.pick(["RUNNING", "COMPLETED", "FAILED"]);
    const payload = {
      occurredAt: `${second}${chance.pick(micros)}Z`,
      ...{ clientId: "client", taskId, taskType: "BINDER", status, errorMessage: null },
    };
    service.mock.admin.sendEvent({ name: `task.${status.toLowerCase()}`, payload });
  }
}

function sendOddEvent({ scene, service, chance }: Stage): void {
  const future = new Date(scene.clock.now() + 86_400_000).toISOString();
  const payload = chance.pick<Record<string, unknown>>([
    { nothing: "of use" },
    { taskId: 7, status: "COMPLETED" },
    { clientId: "c", taskId: "odd", taskType: "BINDER", status: "COMPLETED", occurredAt: future },
    { clientId: "c", taskId: "odd", taskType: "BINDER", status: "RUNNING" },
  ]);
  service.mock.admin.sendEvent({ name: "task.completed", payload });
}

function replayDelivery({ service, chance }: Stage): void {
  const draw = chance.number();
  const ids = [...service.issued.keys()];
  const id = ids[Math.floor(draw * ids.length)];
  // Refused where the endpoint is disabled; that is the answer.
  if (id !== undefined) service.mock.admin.replay(id).catch(() => {});
}

const callNames = ["me", "list endpoints", "list tasks", "catalog", "describe"] as const;

function callSomething({ service, chance }: Stage): void {
  const { client, call } = chance.pick(service.sdk());
  const name = chance.pick(callNames);
  // A deadline of the call's own, or none: then the limits of its parts bound it.
  const deadlineMs = chance.pick([1_000, 30_000, 400_000, undefined]);
  const limits = { withinMs: deadlineMs ?? callMsMax };
  const options = { deadlineMs };
  const endpointId = service.endpointIds[0] ?? "none";
  const runs: Record<(typeof callNames)[number], () => Promise<unknown>> = {
    me: () => client.me(options),
    catalog: () => client.webhooks.catalog(options),
    describe: () =>
      client.webhooks.endpoints.update({ endpointId, description: `at ${chance.integer(1, 9)}` }, options),
    "list endpoints": () => first(client.webhooks.endpoints.list({ limit: 100 }, options)),
    "list tasks": () => first(client.tasks.list({ limit: 100 }, options)),
  };
  void call(name, limits, runs[name]);
}

/** One page is one call, with one deadline. */
async function first<Item>(list: AsyncIterable<Item>): Promise<Item | undefined> {
  for await (const item of list) return item;
  return undefined;
}

function burst({ scene, service, chance }: Stage): void {
  const { client, call } = chance.pick(service.sdk());
  const count = chance.integer(2, scene.settings.requestsPerWindow * 2);
  for (let sent = 0; sent < count; sent++) void call("me", { withinMs: callMsMax }, () => client.me());
}

function waitForTask({ service, chance }: Stage): void {
  const draw = chance.number();
  const taskId = service.manualTaskIds[Math.floor(draw * service.manualTaskIds.length)];
  const deadlineMs = chance.pick([10_000, 600_000]);
  const { client, call } = chance.pick(service.sdk());
  if (taskId === undefined) return;
  void call("wait for a task", { withinMs: deadlineMs }, () => client.tasks.waitFor(taskId, { deadlineMs }));
}

function addEndpoint({ operator, service }: Stage): void {
  if (service.endpointIds.length < 2) void operator.register();
}

function rotate({ operator, chance }: Stage): void {
  void operator.rotate(chance.pick([0, 60, 3_600]));
}

function pauseOrResume({ operator, chance }: Stage): void {
  void operator.setEnabled(chance.happens(0.6));
}

function replaceSdk({ scene, service, chance }: Stage): void {
  const index = chance.integer(0, service.sdk().length - 1);
  if (scene.settings.sdkRestarts) service.restartSdk(index);
}

/** Another program with the same key, which paces itself by nothing. */
function rival({ scene, service, chance }: Stage): void {
  const requests = chance.integer(1, scene.settings.requestsPerWindow);
  if (scene.settings.rival) void useKey(service.mock, service.apiKey(), requests);
}

async function useKey(mock: MockServer, apiKey: string, requests: number): Promise<void> {
  const send = async (query: string, headers = {}) => {
    const init = { method: "POST", headers: { "content-type": "application/json", ...headers } };
    const answer = await mock.fetch("/graphql", { ...init, body: JSON.stringify({ query }) });
    return (await answer.json()) as { data?: { tokens?: { workspaceToken: string } } };
  };
  const exchange = `mutation { tokens: exchangeSurfaceRefreshTokenForAccessTokens(refreshToken: ${JSON.stringify(apiKey)}) { workspaceToken } }`;
  try {
    const token = (await send(exchange)).data?.tokens?.workspaceToken;
    for (let sent = 0; sent < requests; sent++) {
      await send("{ me { __typename } }", { authorization: `Bearer ${token}` });
    }
  } catch {
    // Faults meet the rival too; it gives up.
  }
}

/** Deliveries that nobody signed with a secret that still counts. */
function forge({ scene, site, chance }: Stage): void {
  const draw = chance.number();
  const model = site.road.captured[Math.floor(draw * site.road.captured.length)];
  const kind = chance.pick(["foreign secret", "retired secret", "another body", "another id"] as const);
  if (!model) return;
  const { headers } = model;
  const id = scene.trace.nameOf("forgery", String(draw));
  const body = kind === "another body" ? Buffer.concat([model.body, Buffer.from(" ")]) : model.body;
  if (kind === "another body" || kind === "another id") {
    send(site, { headers: kind === "another id" ? { ...headers, "webhook-id": id } : headers, body });
    return;
  }
  const secret = kind === "retired secret" ? site.secrets.retired().at(-1) : undefined;
  const timestamp = String(Math.floor(scene.clock.now() / 1_000));
  const content = Buffer.concat([Buffer.from(`${id}.${timestamp}.`), body]);
  const signature = sign(secret ?? foreignSecret, content);
  const signed = { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signature };
  send(site, { headers: { ...headers, ...signed }, body });
}

const foreignSecret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;

function send({ road }: ReceiverSide, { headers, body }: CapturedRequest): void {
  const { "content-length": _, ...rest } = headers;
  const request = new Request(receiverUrl, { method: "POST", headers: rest, body: new Uint8Array(body) });
  road.deliver(request).catch(() => {}); // nobody reads the answer
}

function replayCaptured({ site, chance }: Stage): void {
  const draw = chance.number();
  const model = site.road.captured[Math.floor(draw * site.road.captured.length)];
  if (model) send(site, model);
}

function closeReceiver({ site, chance }: Stage): void {
  const draw = chance.number();
  const running = site.running();
  const process = running[Math.floor(draw * running.length)];
  if (process?.life.state === "alive") site.closeOne(process);
  site.restart();
}

function stallReceiver({ scene, site, chance }: Stage): void {
  const draw = chance.number();
  const forMs = chance.integer(1_000, stallMsMax);
  const running = site.running();
  const process = running[Math.floor(draw * running.length)];
  if (scene.troubled("stall", chance)) process?.life.stall(forMs);
}

function reconcile({ operator, site, chance }: Stage): void {
  const sinceMs = chance.pick([0, 3_600_000]);
  if (site.running().length > 0) void operator.reconcile(sinceMs);
}

function replayRow({ scene, site, chance }: Stage): void {
  const draw = chance.number();
  const process = site.running()[0];
  if (!process) return;
  void site.store.list({ states: ["dead", "quarantined", "done"], limit: 20 }).then((rows) => {
    const row = rows[Math.floor(draw * rows.length)];
    if (!row) return;
    scene.trace.note(`replay ${scene.trace.nameOf("delivery", row.id)} of ${source}`);
    process.receiver.replay(row.id).catch(() => {});
  });
}
