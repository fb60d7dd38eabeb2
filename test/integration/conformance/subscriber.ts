import type { ControlApi, DeliveryDetail } from "@workspace-tasks/mock-server";
import { vi } from "vitest";
import {
  type CapturedDelivery,
  type CapturingReceiver,
  type ReceiverResponse,
  startCapturingReceiver,
} from "../../support/capturing-receiver.ts";
import { signBytes } from "../../support/signed-delivery.ts";
import type { CallOptions, Harness } from "./harness.ts";
import { done, endpointMutations } from "./operations.ts";

type DeliveryQuery = Parameters<ControlApi["listDeliveries"]>[0];

/** A new workspace with one endpoint and a receiver. */
export interface Subscriber extends AsyncDisposable {
  readonly workspaceId: string;
  readonly endpointId: string;
  readonly secret: string;
  readonly receiver: CapturingReceiver;
  /** The options of calls of the workspace's administrator, with a new token. */
  admin(): Promise<CallOptions>;
  /** The deliveries to this endpoint as the control API shows them, attempts included. */
  deliveries(filter?: DeliveryQuery): Promise<DeliveryDetail[]>;
}

export type SubscribeOptions = {
  readonly eventTypes?: readonly string[];
  readonly response?: ReceiverResponse;
  /** Creates the endpoint in the workspace of another subscriber. */
  readonly within?: Subscriber;
};

export async function subscribe(
  service: Harness,
  { eventTypes, response = 204, within }: SubscribeOptions = {},
): Promise<Subscriber> {
  const receiver = await startCapturingReceiver();
  receiver.respondWith(response);
  const workspace = within ? null : await service.workspace();
  const admin: Subscriber["admin"] =
    within?.admin ?? (async () => ({ token: (await service.tokens(workspace?.apiKey)).workspaceToken }));
  const { create } = endpointMutations(service);
  const { endpoint, signingSecret } = await done(create({ url: receiver.url, eventTypes }, await admin()));
  return {
    workspaceId: within?.workspaceId ?? workspace?.workspaceId ?? "",
    endpointId: endpoint.id,
    secret: signingSecret,
    receiver,
    admin,
    async deliveries(filter) {
      const query = { endpointId: endpoint.id, limit: 1_000, ...filter };
      const { data } = await service.control.listDeliveries(query);
      return Promise.all(data.map(({ id }) => service.control.getDelivery(id)));
    },
    [Symbol.asyncDispose]: () => receiver.close(),
  };
}

/** The secrets that signed a delivery, computed without a library. */
export function secretsThatSigned(delivery: CapturedDelivery, secrets: readonly string[]): string[] {
  const { id, timestamp, signatures } = signatureHeaders(delivery);
  const start = `${id}.${timestamp}.`;
  return secrets.filter((secret) => signatures.includes(signBytes(secret, start, delivery.body)));
}

export function signatureHeaders({ headers }: Pick<CapturedDelivery, "headers">) {
  return {
    id: String(headers["webhook-id"]),
    timestamp: String(headers["webhook-timestamp"]),
    signatures: String(headers["webhook-signature"]).split(" "),
  };
}

/** Runs `check` with `Date` at this time, so that a verifier's tolerance fits the mock's virtual clock. */
export function atTime<Result>(atMs: number, check: () => Result): Result {
  vi.useFakeTimers({ toFake: ["Date"], now: atMs });
  try {
    return check();
  } finally {
    vi.useRealTimers();
  }
}
