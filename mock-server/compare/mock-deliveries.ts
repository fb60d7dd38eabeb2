// Deliveries of a mock, captured in this process: tasks that complete and fail, a pull of documents, a retry, a rotation.

import { events, knownEventNames } from "../../sdk/events/catalog.ts";
import { exampleFields } from "../../sdk/events/example-event.ts";
import { createMockServer, type MockServer } from "../server.ts";
import type { SettingsChanges } from "../settings/settings.ts";
import { createVirtualClock, type VirtualClock } from "../time/virtual-clock.ts";
import { connectToMock, mockMark } from "./connect-to-mock.ts";
import { changesProbe, type DeliveryShape, type Observation } from "./observe/observation.ts";
import { type CapturedDelivery, observeDeliveries } from "./observe/observe-delivery.ts";
import { awaitDeliveries, endpointPaths, responseTo } from "./run/await-deliveries.ts";

const url = "https://receiver.invalid/mock";

/** Attempts of the first delivery that get a 503. */
const rejectedMax = 4;

type Arrived = Omit<CapturedDelivery, "responded">;

/** Captures what arrives, with the response that it gets. */
const receiver =
  (clock: VirtualClock, captured: CapturedDelivery[], respond: (arrived: Arrived) => number, path?: string) =>
  async (request: Request): Promise<Response> => {
    const body = Buffer.from(await request.arrayBuffer());
    const arrived = { receivedAtMs: clock.now(), headers: Object.fromEntries(request.headers), body, path };
    const responded = respond(arrived);
    captured.push({ ...arrived, responded });
    return new Response(null, { status: responded });
  };

export async function observeMockDeliveries(settings: SettingsChanges): Promise<readonly DeliveryShape[]> {
  const clock = createVirtualClock();
  const captured: CapturedDelivery[] = [];
  let first: string | undefined;
  const receive = receiver(clock, captured, ({ headers }) => {
    first ??= headers["webhook-id"];
    const rejected = captured.filter(({ responded }) => responded === 503).length;
    return headers["webhook-id"] === first && rejected < rejectedMax ? 503 : 204;
  });
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
  const receivers = Object.values(endpointPaths).map((path) => {
    const receive = receiver(clock, captured, (delivery) => responseTo(delivery, captured), path);
    return [publicUrl + mockMark + path, receive] as const;
  });
  await using mock = await createMockServer({
    listen: false,
    clock,
    deliverOnly: "loopback",
    receivers: new Map(receivers),
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
