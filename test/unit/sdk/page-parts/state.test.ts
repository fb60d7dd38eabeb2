import {
  type Activity,
  addActivities,
  initialLiveState,
  recentMax,
  setConnection,
  versionOf,
} from "@workspace-tasks/page-parts/state.ts";
import { describe, expect, it } from "vitest";

const activity = (type: string, sequence = 1): Activity => ({
  type,
  sequence,
  at: "2026-01-15T12:00:00.000Z",
});

describe("addActivities", () => {
  it("counts changes by topic, so that only the resources of a topic are read again", () => {
    const state = addActivities(initialLiveState, [
      activity("task.changed", 1),
      activity("delivery.created", 2),
      activity("task.changed", 3),
    ]);
    expect(state.changes).toEqual({ task: 2, delivery: 1 });
    expect(versionOf(state, ["task"])).toBe(2);
    expect(versionOf(state, ["endpoint"])).toBe(0);
  });

  it("keeps the newest activities first, as many as the page can show", () => {
    const first = Array.from({ length: 150 }, (_, index) => activity("task.changed", index));
    const second = Array.from({ length: 150 }, (_, index) => activity("task.changed", 150 + index));
    const state = addActivities(addActivities(initialLiveState, first), second);
    expect(state.recent).toHaveLength(recentMax);
    expect(state.recent.map(({ sequence }) => sequence)).toEqual(
      Array.from({ length: recentMax }, (_, index) => 299 - index),
    );
  });

  it("drops what was before a restart: another state of the mock has another time", () => {
    const before = addActivities(initialLiveState, [activity("task.changed", 9)]);
    const state = addActivities(before, [activity("stream.restarted", 0), activity("task.changed", 1)]);
    expect(state.recent.map(({ sequence }) => sequence)).toEqual([1]);
  });
});

describe("everything counts as changed", () => {
  it("when the stream restarts, which is not listed as an activity", () => {
    const state = addActivities(initialLiveState, [activity("stream.restarted")]);
    expect(versionOf(state, ["endpoint"])).toBe(1);
    expect(state.recent).toEqual([]);
  });

  it("after the connection was lost, because the mock may be another one then", () => {
    const live = setConnection(initialLiveState, "live");
    const back = setConnection(setConnection(live, "lost"), "live");
    expect(versionOf(live, ["task"])).toBe(0);
    expect(versionOf(back, ["task"])).toBe(1);
    expect(setConnection(back, "live")).toBe(back);
  });
});
