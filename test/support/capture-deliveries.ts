import { createMockServer, type SettingsChanges } from "@workspace-tasks/mock-server";
import { createVirtualClock } from "../../mock-server/time/virtual-clock.ts";
import type { CapturedDelivery } from "../../mock-server/tools/compare/observe/observe-delivery.ts";

const url = "https://receiver.invalid/service";

export interface CapturedDeliveries {
  readonly deliveries: readonly CapturedDelivery[];
  readonly secrets: readonly string[];
  /** Ids and texts in the bodies. */
  readonly texts: readonly string[];
}

/** Deliveries of a mock that plays the service: a failed attempt, a completed and a failed task, a pull of documents. */
export async function captureDeliveries(
  settings: SettingsChanges = {},
  seed = 11,
): Promise<CapturedDeliveries> {
  const clock = createVirtualClock();
  const deliveries: CapturedDelivery[] = [];
  const receive = async (request: Request) => {
    const responded = deliveries.length < 2 ? 500 : 200;
    const headers = Object.fromEntries(request.headers);
    deliveries.push({
      receivedAtMs: clock.now() + 90,
      headers,
      body: Buffer.from(await request.arrayBuffer()),
      responded,
    });
    return new Response(null, { status: responded });
  };
  await using mock = await createMockServer({
    listen: false,
    clock,
    seed,
    settings,
    receivers: new Map([[url, receive]]),
  });
  const { control } = mock;
  const { signingSecret } = await control.createEndpoint({ url });
  await control.startTask({ taskType: "BINDER", progression: "manual" });
  await clock.advance("2h");
  await control.startTask({ taskType: "TAX_PREP" });
  await clock.advance("1m");
  const { taskId } = await control.startTask({ taskType: "TAX_PREP", progression: "manual" });
  const customerError = { code: "INTERNAL", action: { type: "CONTACT_SUPPORT", connectionId: null } };
  await control.setTaskStatus(taskId, { status: "FAILED", errorMessage: "Miller has no W-2", customerError });
  await control.sendEvent({
    name: "documents.synced",
    payload: {
      clientId: taskId,
      connectionId: taskId,
      providerKey: "miller-portal",
      sourceExternalId: "Miller 2025",
      documents: [{ inputDocumentId: taskId, fileName: "Miller-w2.pdf", mimeType: "application/pdf" }],
      duplicateCount: 2,
    },
  });
  await clock.advance("1m");
  const texts = deliveries.flatMap(({ body }) => textsOf(JSON.parse(body.toString("utf8"))));
  return {
    deliveries,
    secrets: [signingSecret],
    texts: texts.filter((text) => /Miller|miller|-.*-.*-|T.*Z$/.test(text)),
  };
}

function textsOf(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsOf) : [];
}
