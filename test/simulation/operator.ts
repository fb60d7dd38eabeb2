import type { ReceiverSide } from "./receiver-side.ts";
import type { Scene } from "./scene.ts";
import { queueWaitMsMax } from "./sdk-process.ts";
import type { ServiceSide } from "./service-side.ts";

/** Whoever looks after the endpoints: registers them, rotates secrets, pauses and resumes. Through the SDK, as everybody. */
export type Operator = {
  /** Registers an endpoint for the receiver; keeps at it until one is there. */
  register(): Promise<void>;
  /** Registers an endpoint elsewhere under a label, once, and remembers how that ended. */
  createLabelled(): void;
  rotate(graceSeconds: number): Promise<void>;
  setEnabled(enabled: boolean): Promise<void>;
  reconcile(sinceMs: number): Promise<boolean>;
  /** What the outcomes of the labelled registrations promise. */
  readonly labels: ReadonlyMap<string, "one" | "none" | "at most one">;
};

export const receiverUrl = "https://receiver.example/webhooks";
export const elsewhereUrl = "https://elsewhere.example/webhooks";
/** More than all the limits of one call together. */
export const callMsMax = queueWaitMsMax + 900_000;

export function createOperator(scene: Scene, service: ServiceSide, site: ReceiverSide): Operator {
  const { clock, trace } = scene;
  const chance = scene.chance.stream("operator");
  const labels = new Map<string, "one" | "none" | "at most one">();
  const current = new Map<string, string>();
  const limits = { withinMs: callMsMax };
  let rotating = false;
  const sdk = () => chance.pick(service.sdk());
  const wait = (delayMs: number) => new Promise<void>((resolve) => clock.schedule(delayMs, resolve));

  const learn = async (endpointId: string, secret: string, graceSeconds: number) => {
    const old = current.get(endpointId);
    current.set(endpointId, secret);
    // An operator is not at once everywhere; until then both secrets sign, if there is a grace period.
    await wait(chance.integer(0, 5_000));
    site.secrets.add(secret);
    trace.note("the receivers know a new secret");
    if (old === undefined) return;
    await wait(graceSeconds * 1_000);
    site.secrets.remove(old);
    trace.note("the receivers forget an old secret");
  };

  /** An answer that was lost is asked for again: rotating once more issues another secret. */
  const rotate = async (endpointId: string, graceSeconds: number): Promise<void> => {
    for (;;) {
      const { client, call } = sdk();
      const rotation = () =>
        client.webhooks.endpoints.rotateSecret({ endpointId, gracePeriodSeconds: graceSeconds });
      const end = await call("rotate", limits, rotation);
      if (end.ok) return void learn(endpointId, end.value.signingSecret, graceSeconds);
      if (end.code === "NOT_FOUND") return;
      await wait(60_000);
    }
  };

  return {
    labels,
    async register() {
      for (;;) {
        const { client, call } = sdk();
        const end = await call("register", limits, () =>
          client.webhooks.endpoints.create({ url: receiverUrl }),
        );
        if (!end.ok) {
          await wait(60_000);
          continue;
        }
        const { endpoint, signingSecret } = end.value;
        service.endpointIds.push(endpoint.id);
        return learn(endpoint.id, signingSecret, 0);
      }
    },
    createLabelled() {
      const label = `label-${labels.size + 1}`;
      labels.set(label, "at most one");
      const { client, call } = sdk();
      const input = { url: elsewhereUrl, description: label, eventTypes: ["documents.synced"] };
      void call(`create ${label}`, limits, () => client.webhooks.endpoints.create(input)).then((end) => {
        if (end.ok) labels.set(label, "one");
        else if (end.outcome !== "unknown") labels.set(label, "none");
      });
    },
    async rotate(graceSeconds) {
      const endpointId = service.endpointIds[0];
      // One at a time: of two at once, nobody could tell which secret is the newer.
      if (endpointId === undefined || rotating || !current.has(endpointId)) return;
      rotating = true;
      await rotate(endpointId, graceSeconds).finally(() => {
        rotating = false;
      });
    },
    async setEnabled(enabled) {
      for (const endpointId of service.endpointIds) {
        const { client, call } = sdk();
        const change = () => client.webhooks.endpoints.update({ endpointId, enabled });
        await call(enabled ? "resume" : "pause", limits, change);
      }
    },
    async reconcile(sinceMs) {
      const process = chance.pick(site.running());
      const { client } = sdk();
      try {
        const report = await process.receiver.reconcile(client, { sinceMs, runningForMs: 60_000 });
        trace.note(`reconciled: ${JSON.stringify(report)}`);
        return true;
      } catch (error) {
        const { code, message } = error as { code?: string; message?: string };
        trace.note(`could not reconcile: ${code ?? message}`);
        return false;
      }
    },
  };
}
