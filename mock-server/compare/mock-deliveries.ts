// Deliveries of a mock, captured in this process: tasks that complete and fail, a pull of documents, a retry, a rotation.

import { events, knownEventNames } from "../../sdk/events/catalog.ts";
import { exampleFields } from "../../sdk/events/example-event.ts";
import { createMockServer, type MockServer } from "../server.ts";
import type { SettingsChanges } from "../settings/settings.ts";
import { createVirtualClock } from "../time/virtual-clock.ts";
import { connectToMock, mockMark } from "./connect-to-mock.ts";
import { changesProbe, type DeliveryShape, type Observation } from "./observe/observation.ts";
import { type CapturedDelivery, observeDeliveries } from "./observe/observe-delivery.ts";
import { awaitDeliveries, endpointPaths, responseTo } from "./run/await-deliveries.ts";

const url = "https://receiver.invalid/mock";

/** Attempts of the first delivery that get a 503. */
const rejectedMax = 4;

export async function observeMockDeliveries(settings: SettingsChanges): Promise<readonly DeliveryShape[]> {
  const clock = createVirtualClock();
  const captured: CapturedDelivery[] = [];
  let first: string | undefined;
  const receive = async (request: Request): Promise<Response> => {
    const headers = Object.fromEntries(request.headers);
    first ??= headers["webhook-id"];
    const isRejected =
      headers["webhook-id"] === first &&
      captured.filter(({ responded }) => responded === 503).length < rejectedMax;
    const status = isRejected ? 503 : 204;
    captured.push({
      receivedAtMs: clock.now(),
      headers,
      body: Buffer.from(await request.arrayBuffer()),
      responded: status,
    });
    return new Response(null, { status });
  };
  await using mock = await createMockServer({
    listen: false,
    clock,
    deliverOnly: "loopback",
    receivers: new Map([[url, receive]]),
    settings,
  });
  const { control } = mock;
  const { id, signingSecret } = await control.createEndpoint({ url });
  // The first delivery is attempted several times before anything else happens.
  await control.startTask({ taskType: "BINDER", progression: "manual" });
  await clock.advance("3h");
  await control.startTask({ taskType: "TAX_PREP" });
  await clock.advance("1h");
  await failTasks(mock);
  await sendOthers(mock);
  await clock.advance("1h");
  const weekSeconds = 604_800;
  const rotated = await control.rotateEndpointSecret(id, { gracePeriodSeconds: weekSeconds });
  await control.startTask({ taskType: "BINDER" });
  await clock.advance("1h");
  return observeDeliveries(captured, [rotated.signingSecret, signingSecret]);
}

const publicUrl = "https://receiver.invalid";
const awaitedMs = 900_000;

/** What happens to the deliveries of an endpoint that is paused, enabled, moved and unsubscribed. */
export async function observeMockChanges(settings: SettingsChanges): Promise<Observation> {
  const clock = createVirtualClock();
  const captured: CapturedDelivery[] = [];
  const receiver = (path: string) => async (request: Request) => {
    const body = Buffer.from(await request.arrayBuffer());
    const delivery = { receivedAtMs: clock.now(), headers: Object.fromEntries(request.headers), body, path };
    const responded = responseTo(delivery, captured);
    captured.push({ ...delivery, responded });
    return new Response(null, { status: responded });
  };
  const paths = Object.values(endpointPaths);
  await using mock = await createMockServer({
    listen: false,
    clock,
    deliverOnly: "loopback",
    receivers: new Map(paths.map((path) => [publicUrl + mockMark + path, receiver(path)])),
    settings,
  });
  for (const atMs of [10_000, 40_000])
    clock.schedule(atMs, () => void clock.track(mock.control.startTask({ taskType: "BINDER" })));
  const connection = connectToMock(mock, clock, { admin: mock.apiKey }, settings);
  const observations = await awaitDeliveries(
    { publicUrl, forMs: awaitedMs, captured: () => captured },
    { ...connection, baseUrl: mock.baseUrl },
  );
  const found = observations.find(({ probe }) => probe === changesProbe);
  if (!found) throw new Error("the mock was not observed");
  return found;
}

/** The pairs of A-17. */
const customerErrors = [
  { code: "CONNECTION_REAUTH_REQUIRED", action: { type: "RECONNECT", connectionId: null } },
  { code: "DOCUMENT_UNREADABLE", action: { type: "REUPLOAD", connectionId: null } },
  { code: "INTERNAL", action: { type: "CONTACT_SUPPORT", connectionId: null } },
];

async function failTasks({ control }: MockServer): Promise<void> {
  for (const customerError of customerErrors) {
    const { taskId } = await control.startTask({ taskType: "TAX_PREP", progression: "manual" });
    await control.setStageStatus(taskId, {
      subTaskType: "tax-extraction",
      status: "FAILED",
      errorMessage: "example",
    });
    await control.setTaskStatus(taskId, { status: "FAILED", errorMessage: "example", customerError });
  }
}

/** Events that no task causes. */
async function sendOthers({ control }: MockServer): Promise<void> {
  for (const name of knownEventNames.filter((each) => events[each].status === "")) {
    await control.sendEvent({ name, payload: exampleFields(name) });
  }
}
