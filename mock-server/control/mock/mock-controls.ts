import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import { MockServerError } from "../../errors.ts";
import { restoreWorld, takeSnapshot } from "../../snapshot/snapshot.ts";
import type { FaultPlan } from "../../state/fault.ts";
import { durationForms, isoTime, isoTimeOrNull, parseDurationMs } from "../../time/duration.ts";
import { realClock } from "../../time/real-clock.ts";
import type { VirtualClock } from "../../time/virtual-clock.ts";
import { createWorldClock, type WorldHolder } from "../../world/world-holder.ts";
import type { ControlsOf } from "../contract/route.ts";
import { isRejected } from "../deliveries/delivery-controls.ts";
import { healthOf } from "./endpoint-health.ts";
import type { mockRoutes } from "./mock-routes.ts";
import { upcoming } from "./upcoming.ts";

export interface MockControlsOptions {
  readonly worlds: WorldHolder;
  readonly clock: Clock | VirtualClock;
  readonly version: string;
}

export function createMockControls({
  worlds,
  clock,
  version,
}: MockControlsOptions): ControlsOf<typeof mockRoutes> {
  const virtual = "advance" in clock ? clock : null;
  const worldClock = createWorldClock(worlds, clock);
  const now = () => isoTime(clock.now());
  return {
    getHealth: () => ({ status: "ok", version, now: now(), epoch: worlds.current.epoch }),
    getOverview() {
      const { state } = worlds.current;
      const tasks = { RUNNING: 0, COMPLETED: 0, FAILED: 0 };
      for (const { status } of state.tasks.values()) tasks[status]++;
      const deliveries = { pending: 0, paused: 0, succeeded: 0, failed: 0, cancelled: 0 };
      let rejectedDeliveries = 0;
      for (const delivery of state.deliveries.values()) {
        deliveries[delivery.status]++;
        if (isRejected(delivery)) rejectedDeliveries++;
      }
      return {
        rejectedDeliveries,
        requests: worlds.current.journal.count,
        activeFaults: countFaults(worlds.current.faults.plan()),
        clients: state.clients.size,
        endpoints: state.endpoints.size,
        events: state.events.size,
        tasks,
        deliveries,
        upcoming: upcoming(worlds.current),
        ...healthOf(worlds.current),
      };
    },
    getClock() {
      const pending = virtual?.pending();
      return {
        now: now(),
        mode: virtual ? "virtual" : "real",
        pendingTimers: pending?.timers ?? null,
        nextTimerAt: isoTimeOrNull(pending?.nextAtMs ?? null),
        aheadOfRealMs: virtual ? virtual.now() - realClock.now() : 0,
      };
    },
    async advanceClock({ by }) {
      const byMs = parseDurationMs(by);
      if (byMs === undefined) throw new MockServerError("BODY_INVALID", `by: expected ${durationForms}`);
      const fired = await worldClock.advance(byMs);
      return { now: now(), fired };
    },
    reset() {
      worlds.reset();
    },
    getSnapshot: () => takeSnapshot(worlds.current, worlds.seedData.workspaceId),
    async restoreSnapshot(snapshot) {
      // Loaded when first needed: the schemas of a snapshot cost time that a start should not pay.
      const { readSnapshot } = await import("../../snapshot/read-snapshot.ts");
      restoreWorld(worlds, readSnapshot(snapshot, worlds.current.settings.bounds));
    },
  };
}

const countFaults = ({ api = [], deliveries = [] }: FaultPlan): number =>
  [...api, ...deliveries].reduce(
    (count, { instructions = [], chances = [] }) => count + instructions.length + chances.length,
    0,
  );
