import type { MockServer } from "@workspace-tasks/mock-server";
import { mockFaultName } from "./faults.ts";
import { type SdkProcess, startSdk } from "./sdk-process.ts";
import type { SimulationWorld } from "./world.ts";

/** The service with its tasks and API keys, and the SDK processes that use it. */
export interface Service {
  readonly mock: MockServer;
  readonly endpointIds: string[];
  /** Tasks that the simulation moves itself. */
  readonly manualTaskIds: string[];
  readonly sdkProcesses: SdkProcess[];
  /** Events with details of other types than documented. */
  readonly oddEventIds: Set<string>;
  readonly apiKey: () => string;
  /** Creates a new API key and revokes the old one. */
  replaceApiKey(): Promise<void>;
  restartSdk(index: number): void;
  /** The event of each delivery, by id. */
  readonly eventIds: ReadonlyMap<string, string>;
  /** Number of deliveries of each event. */
  readonly deliveryCounts: ReadonlyMap<string, number>;
}

interface FiredFault {
  readonly side: "api" | "delivery";
  readonly fault: { readonly kind: string };
}

type Key = Awaited<ReturnType<MockServer["control"]["createApiKey"]>>;

export function createService(world: SimulationWorld, mock: MockServer, firstKey: Key): Service {
  const { settings, trace } = world;
  const eventIds = new Map<string, string>();
  const deliveryCounts = new Map<string, number>();
  let key = firstKey;
  let started = 0;
  const apiKey = () => key.apiKey;
  const start = () => startSdk(world, { mock, apiKey }, `sdk-${++started}`);
  const sdkProcesses = Array.from({ length: settings.sdkProcesses }, start);

  mock.subscribe(({ type, ...activity }) => {
    if (type === "fault.fired") {
      const { side, fault } = activity["entry"] as FiredFault;
      const name = mockFaultName(side, fault.kind);
      if (name) world.meet(name);
    }
    if (type !== "delivery.created") return;
    const [id = "", eventId = "", event] = ["deliveryId", "eventId", "event"].map((name) =>
      String(activity[name]),
    );
    eventIds.set(id, eventId);
    deliveryCounts.set(eventId, (deliveryCounts.get(eventId) ?? 0) + 1);
    trace.log(`${trace.nameOf("delivery", id)} is created: ${event}, ${trace.nameOf("event", eventId)}`);
  });

  return {
    mock,
    eventIds,
    deliveryCounts,
    endpointIds: [],
    manualTaskIds: [],
    oddEventIds: new Set(),
    sdkProcesses,
    apiKey,
    async replaceApiKey() {
      const old = key;
      key = await mock.control.createApiKey({ expiresInDays: 30 });
      await mock.control.revokeApiKey(old.id);
      trace.log("the API key is replaced");
    },
    restartSdk(index) {
      const process = start();
      trace.log(`${sdkProcesses[index]?.name} ends; ${process.name} starts`);
      sdkProcesses[index] = process;
    },
  };
}
