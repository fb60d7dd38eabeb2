import { z } from "zod";
import { duration, id, time } from "./fields.ts";
import { defineRoute, type Route } from "./route.ts";

export const healthView = z.object({
  status: z.literal("ok"),
  version: z.string(),
  now: time,
  epoch: z.int().describe("Counts resets and restores."),
});

export const clockView = z.object({
  now: time,
  mode: z.enum(["real", "virtual"]),
  pendingTimers: z.int().nullable().describe("Timers that wait; `null` on a real clock."),
  nextTimerAt: time.nullable(),
});

export const advancedView = z.object({
  now: time,
  fired: z.int().describe("Timers that fired on the way; tasks and retries may share one."),
});

export const limitView = z.object({
  keyId: id,
  used: z.int(),
  remaining: z.int(),
  resetsAt: time.nullable().describe("When the oldest counted request leaves the window."),
});

export const workspaceView = z.object({
  id,
  name: z.string(),
  slug: z.string(),
  status: z.string(),
  workspaceType: z.string().nullable(),
  partnerId: id.nullable(),
});

/** Checked in depth by the snapshot codec, which knows its versions. */
const snapshotBody = z.looseObject({});

const getSnapshot: Route = {
  method: "GET",
  path: "/snapshot",
  summary: "Everything the mock remembers, as one document.",
  status: 200,
  answer: snapshotBody,
  answersText: true,
  run: (admin) => admin.snapshotText(),
};

export const stateRoutes: readonly Route[] = [
  defineRoute({
    method: "GET",
    path: "/health",
    summary: "Whether the mock answers, its version and its time.",
    answer: healthView,
    run: (admin) => admin.health(),
  }),
  defineRoute({
    method: "GET",
    path: "/clock",
    summary: "The mock's time.",
    answer: clockView,
    run: (admin) => admin.clock(),
  }),
  defineRoute({
    method: "POST",
    path: "/clock/advance",
    summary: "Moves virtual time; answers when everything due on the way has settled.",
    body: z.strictObject({ by: duration }),
    answer: advancedView,
    run: (admin, { body }) => admin.advance(body.by),
  }),
  defineRoute({
    method: "GET",
    path: "/limits",
    summary: "How much of each key's allowance is used.",
    answer: z.object({ data: z.array(limitView) }),
    run: (admin) => ({ data: admin.limits() }),
  }),
  defineRoute({
    method: "GET",
    path: "/workspaces",
    summary: "All workspaces.",
    answer: z.object({ data: z.array(workspaceView) }),
    run: (admin) => ({ data: admin.workspaces() }),
  }),
  defineRoute({
    method: "POST",
    path: "/reset",
    summary: "Starts all over: state, ids, time, limits, journal, faults and waiting timers.",
    body: z.strictObject({}),
    run: (admin) => admin.reset(),
  }),
  getSnapshot,
  defineRoute({
    method: "PUT",
    path: "/snapshot",
    summary: "Goes back to a snapshot, waiting deliveries and stages included.",
    body: snapshotBody,
    run: (admin, { body }) => admin.restore(body),
  }),
];
