import { operationDocuments } from "../../generated/operation-documents.ts";
import { isPlainObject } from "../../plain-object.ts";
import type { Clock } from "../../time/clock.ts";
import type { VirtualClock } from "../../time/virtual-clock.ts";
import type { CapturedDelivery } from "../observe/observe-delivery.ts";
import type { Sender } from "./send-request.ts";
import type { Session } from "./session.ts";
import { sleep } from "./sleep.ts";

/** A receiver that the service can reach. */
export interface Listening {
  readonly publicUrl: string;
  /** How long deliveries are awaited. */
  readonly forMs: number;
  /** What has arrived. */
  captured(): readonly CapturedDelivery[];
}

export interface Captured {
  readonly deliveries: readonly CapturedDelivery[];
  /** Secrets of the endpoint, the newest first. */
  readonly secrets: readonly string[];
}

interface Context {
  readonly baseUrl: string;
  readonly sender: Sender;
  readonly session: Session;
  readonly clock: Clock | VirtualClock;
  readonly mark: string;
  readonly signal: AbortSignal;
  readonly onWait?: ((ms: number, reason: string) => void) | undefined;
}

/** Registers an endpoint for the receiver and waits; `null` when the service registers none. */
export async function awaitDeliveries(
  { publicUrl, forMs, captured }: Listening,
  { baseUrl, sender, session, clock, mark, signal, onWait }: Context,
): Promise<Captured | null> {
  const input = {
    url: `${publicUrl.replace(/\/$/, "")}${mark}deliveries`,
    description: "workspace-tasks compare",
  };
  const { json } = await sender.send({
    url: `${baseUrl}/graphql`,
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json",
      authorization: `Bearer ${await session.token("admin")}`,
    },
    body: JSON.stringify({ query: operationDocuments.CreateWebhookEndpoint.text, variables: { input } }),
  });
  const data =
    isPlainObject(json) && isPlainObject(json["data"]) ? json["data"]["createWebhookEndpoint"] : null;
  const secret = isPlainObject(data) ? data["signingSecret"] : null;
  if (typeof secret !== "string") return null;
  onWait?.(forMs, "for deliveries: start a task in the web app");
  await sleep(clock, forMs, signal);
  return { deliveries: captured(), secrets: [secret] };
}
