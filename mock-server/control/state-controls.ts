import type { z } from "zod";
import { takeSnapshot } from "../snapshot/snapshot.ts";
import type { Snapshot } from "../snapshot/snapshot-schema.ts";
import type { Clock } from "../time/clock.ts";
import { parseDurationMs } from "../time/duration.ts";
import type { VirtualClock } from "../time/virtual-clock.ts";
import type { JournalPage } from "../world/request-journal.ts";
import type { WorldHolder } from "../world/world-holder.ts";
import { ControlError } from "./control-error.ts";
import type { advancedView, clockView, healthView, limitView } from "./state-routes.ts";
import {
  type RequestView,
  toTime,
  toTimeOrNull,
  viewRequest,
  viewWorkspace,
  type WorkspaceView,
} from "./views.ts";

export type HealthView = Readonly<z.infer<typeof healthView>>;
export type ClockView = Readonly<z.infer<typeof clockView>>;
export type AdvancedView = Readonly<z.infer<typeof advancedView>>;
export type LimitView = Readonly<z.infer<typeof limitView>>;
export type RequestPage = Omit<JournalPage, "data"> & { readonly data: RequestView[] };

/** Time, journal and memory of the mock. */
export interface StateControls {
  health(): HealthView;
  clock(): ClockView;
  /**
   * Moves virtual time by milliseconds or text such as `"3m"`, `"7d"`; resolves when everything due on the
   * way has settled.
   * @throws ControlError CLOCK_IS_REAL
   */
  advance(by: number | string): Promise<AdvancedView>;
  /** A page of the request journal, oldest first. */
  requests(query?: {
    readonly limit?: number | undefined;
    readonly iterator?: string | undefined;
  }): RequestPage;
  /** How much of each key's allowance is used; keys without counted requests are left out. */
  limits(): LimitView[];
  workspaces(): WorkspaceView[];
  /** Starts all over: with the same seed the same ids and keys come again. */
  reset(): void;
  /** Everything the mock remembers, as a copy. */
  snapshot(): Snapshot;
  /** The same as JSON, which costs less where the state is large. */
  snapshotText(): string;
  /** Goes back to a snapshot, waiting deliveries and stages included. @throws SnapshotError */
  restore(snapshot: unknown): Promise<void>;
}

export type StateControlsOptions = {
  readonly worlds: WorldHolder;
  readonly clock: Clock | VirtualClock;
  readonly version: string;
};

export function createStateControls({ worlds, clock, version }: StateControlsOptions): StateControls {
  const virtual = "advance" in clock ? clock : null;
  const now = () => toTime(clock.now());
  const snapshotText = () => JSON.stringify(takeSnapshot(worlds.current, worlds.seedData.workspaceId));
  return {
    health: () => ({ status: "ok", version, now: now(), epoch: worlds.current.epoch }),
    clock() {
      const pending = virtual?.pending();
      return {
        now: now(),
        mode: virtual ? "virtual" : "real",
        pendingTimers: pending?.timers ?? null,
        nextTimerAt: toTimeOrNull(pending?.nextAtMs ?? null),
      };
    },
    async advance(by) {
      if (!virtual)
        throw new ControlError("CLOCK_IS_REAL", "a real clock cannot be advanced; use a virtual one");
      const byMs = parseDurationMs(by);
      if (byMs === undefined)
        throw new ControlError("INVALID_BODY", 'expected milliseconds or text such as "3m"');
      const fired = await virtual.advance(byMs);
      worlds.current.emit({ type: "clock.advanced", byMs, fired });
      return { now: now(), fired };
    },
    requests({ limit = 100, iterator } = {}) {
      const page = worlds.current.journal.list({ limit, iterator: iterator ?? null });
      return { ...page, data: page.data.map(viewRequest) };
    },
    limits: () =>
      worlds.current.limiter
        .usages(clock.now())
        .map(({ resetsAtMs, ...usage }) => ({ ...usage, resetsAt: toTimeOrNull(resetsAtMs) })),
    workspaces: () => [...worlds.current.state.workspaces.values()].map(viewWorkspace),
    reset() {
      worlds.reset();
    },
    snapshot: () => JSON.parse(snapshotText()) as Snapshot,
    snapshotText,
    async restore(snapshot) {
      // Loaded when first needed: the schemas of a snapshot cost time that a start should not pay.
      const { readSnapshot } = await import("../snapshot/read-snapshot.ts");
      const { restoreWorld } = await import("../snapshot/restore-world.ts");
      restoreWorld(worlds, readSnapshot(snapshot));
    },
  };
}
