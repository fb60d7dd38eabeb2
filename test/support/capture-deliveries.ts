import { events, knownEventNames } from "@workspace-tasks/events/catalog";
import { exampleFields } from "@workspace-tasks/events/example";
import {
  createMockServer,
  createVirtualClock,
  type MockServer,
  type SettingsChanges,
  type VirtualClock,
} from "@workspace-tasks/mock-server";
import type { Captured, CapturedDelivery } from "../../mock-server/tools/compare/ask/deliveries.ts";

const receiverUrl = "https://receiver.invalid/service";

/** Attempts of the first delivery that get a 503. */
const rejectedMax = 4;

/** Deliveries of tasks that complete and fail, of a pull of documents, of a retry and of a rotation. */
export async function captureDeliveries(settings: SettingsChanges = {}, seed = 1): Promise<Captured> {
  const clock = createVirtualClock();
  const deliveries: CapturedDelivery[] = [];
  let first: string | undefined;
  const receive = async (request: Request): Promise<Response> => {
    const headers = Object.fromEntries(request.headers);
    const body = Buffer.from(await request.arrayBuffer());
    first ??= headers["webhook-id"];
    const rejected = deliveries.filter(({ responded }) => responded === 503).length;
    const responded = headers["webhook-id"] === first && rejected < rejectedMax ? 503 : 204;
    deliveries.push({ receivedAtMs: clock.now(), headers, body, responded });
    return new Response(null, { status: responded });
  };
  const mock = await createMockServer({
    listen: false,
    clock,
    seed,
    deliverOnly: "loopback",
    receivers: new Map([[receiverUrl, receive]]),
    settings,
  });
  try {
    const secrets = await causeDeliveries(mock, clock);
    return { deliveries, secrets };
  } finally {
    await mock.close();
  }
}

/** @returns the secrets of the endpoint, the newest first */
async function causeDeliveries(mock: MockServer, clock: VirtualClock): Promise<readonly string[]> {
  const { control } = mock;
  const { id, signingSecret } = await control.createEndpoint({ url: receiverUrl });
  // The first delivery is attempted several times before anything else happens.
  await control.startTask({ taskType: "BINDER", progression: "manual" });
  await clock.advance("3h");
  await control.startTask({ taskType: "TAX_PREP" });
  await clock.advance("1h");
  await failTasks(mock);
  // Events that no task causes.
  for (const name of knownEventNames.filter((each) => events[each].status === ""))
    await control.sendEvent({ name, payload: exampleFields(name) });
  await clock.advance("1h");
  const rotated = await control.rotateEndpointSecret(id, { gracePeriodSeconds: 604_800 });
  await control.startTask({ taskType: "BINDER" });
  await clock.advance("1h");
  return [rotated.signingSecret, signingSecret];
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
    const failed = { status: "FAILED", errorMessage: "example" } as const;
    await control.setStageStatus(taskId, { subTaskType: "tax-extraction", ...failed });
    await control.setTaskStatus(taskId, { ...failed, customerError });
  }
}
