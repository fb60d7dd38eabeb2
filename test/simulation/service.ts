import type { MockServer } from "workspace-tasks/mock-server";
import type { Scene } from "./scene.ts";
import { type SdkProcess, startSdk } from "./sdk-process.ts";

/** The service and those who use it: its tasks, its keys, the SDK processes. */
export type ServiceSide = {
  readonly mock: MockServer;
  readonly endpointIds: string[];
  /** Tasks that move only when told. */
  readonly manualTaskIds: string[];
  readonly sdk: () => readonly SdkProcess[];
  readonly apiKey: () => string;
  /** Replaces the key; the old one stops working, as an expired one does. */
  renewKey(): void;
  restartSdk(index: number): void;
  /** What each delivery is about, by its id. */
  readonly issued: ReadonlyMap<string, string>;
  /** Deliveries per event. */
  readonly copies: ReadonlyMap<string, number>;
};

type Key = { readonly id: string; readonly apiKey: string };

export function createServiceSide(scene: Scene, mock: MockServer, firstKey: Key): ServiceSide {
  const { settings, trace } = scene;
  const issued = new Map<string, string>();
  const copies = new Map<string, number>();
  let key = firstKey;
  let started = 0;
  const start = () => startSdk(scene, { mock, apiKey: () => key.apiKey }, `sdk-${++started}`);
  const processes: SdkProcess[] = [];
  for (let count = 0; count < settings.sdkProcesses; count++) processes.push(start());

  mock.admin.listen(({ type, ...happening }) => {
    if (type !== "delivery.created") return;
    const id = String(happening["deliveryId"]);
    const { eventId, event } = mock.admin.delivery(id);
    issued.set(id, eventId);
    copies.set(eventId, (copies.get(eventId) ?? 0) + 1);
    trace.note(`${trace.nameOf("delivery", id)} of ${event} ${trace.nameOf("event", eventId)}`);
  });

  return {
    mock,
    issued,
    copies,
    endpointIds: [],
    manualTaskIds: [],
    sdk: () => processes,
    apiKey: () => key.apiKey,
    renewKey() {
      const old = key;
      key = mock.admin.createApiKey({ expiresInDays: 30 });
      mock.admin.revokeApiKey(old.id);
      trace.note("the API key is renewed");
    },
    restartSdk(index) {
      processes[index] = start();
      trace.note(`an SDK process ends; ${processes[index].name} starts`);
    },
  };
}
