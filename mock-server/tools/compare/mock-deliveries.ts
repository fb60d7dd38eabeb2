// Deliveries of a mock, captured in this process: tasks that complete and fail, a pull of documents, a retry, a rotation.

import { events, knownEventNames } from "@workspace-tasks/events/catalog";
import { exampleFields } from "@workspace-tasks/events/example";
import {
  createMockServer,
  createVirtualClock,
  type MockServer,
  type SettingsChanges,
} from "@workspace-tasks/mock-server";
import type { Captured, CapturedDelivery } from "./observe/observe-delivery.ts";

const url = "https://receiver.invalid/mock";

/** Attempts of the first delivery that get a 503. */
const rejectedMax = 4;

export async function captureMockDeliveries(settings: SettingsChanges): Promise<Captured> {
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
    deliverOnly: "loopback",
    receivers: new Map([[url, receive]]),
    settings,
  });
  try {
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
    return { deliveries, secrets: [rotated.signingSecret, signingSecret] };
  } finally {
    await mock.close();
  }
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
