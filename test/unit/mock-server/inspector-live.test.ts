import { describe, expect, test } from "vitest";
import {
  type Happening,
  initialLiveState,
  recentMax,
  secondsMax,
  takeConnection,
  takeHappenings,
  tickSecond,
  versionOf,
} from "../../../mock-server/inspector/page/src/live.ts";

const happening = (type: string, sequence = 1): Happening => ({
  type,
  sequence,
  at: "2026-01-15T12:00:00.000Z",
});

describe("what has happened", () => {
  test("is counted by noun, so that only what shows the noun is read anew", () => {
    const state = takeHappenings(initialLiveState, [
      happening("task.changed", 1),
      happening("delivery.created", 2),
      happening("task.changed", 3),
    ]);
    expect(state.changes).toEqual({ task: 2, delivery: 1 });
    expect(versionOf(state, ["task"])).toBe(2);
    expect(versionOf(state, ["endpoint"])).toBe(0);
  });

  test("is kept newest first, and no more of it than the page can show", () => {
    const first = Array.from({ length: 150 }, (_, index) => happening("task.changed", index));
    const second = Array.from({ length: 150 }, (_, index) => happening("task.changed", 150 + index));
    const state = takeHappenings(takeHappenings(initialLiveState, first), second);
    expect(state.recent).toHaveLength(recentMax);
    expect(state.recent.map(({ sequence }) => sequence)).toEqual(
      Array.from({ length: recentMax }, (_, index) => 299 - index),
    );
  });

  test("is counted by the second, requests apart", () => {
    const once = takeHappenings(initialLiveState, [
      happening("request.completed"),
      happening("task.changed"),
    ]);
    const later = takeHappenings(tickSecond(once), [happening("request.completed")]);
    expect(later.seconds).toHaveLength(secondsMax);
    expect(later.seconds.slice(-2)).toEqual([
      { happenings: 2, requests: 1 },
      { happenings: 1, requests: 1 },
    ]);
  });

  test("leaves the window of a minute", () => {
    let state = takeHappenings(initialLiveState, [happening("request.completed")]);
    for (let second = 0; second < secondsMax; second++) state = tickSecond(state);
    expect(state.seconds.every(({ happenings }) => happenings === 0)).toBe(true);
  });

  test("changes nothing when it is nothing", () => {
    expect(takeHappenings(initialLiveState, [])).toBe(initialLiveState);
  });
});

describe("everything is read anew", () => {
  test("when the mock says that the stream has a gap, which is no news by itself", () => {
    const state = takeHappenings(initialLiveState, [happening("stream.restarted")]);
    expect(versionOf(state, ["endpoint"])).toBe(1);
    expect(state.recent).toEqual([]);
  });

  test("after the connection was lost: the mock that answers then may be another one", () => {
    const live = takeConnection(initialLiveState, "live");
    const back = takeConnection(takeConnection(live, "lost"), "live");
    expect(versionOf(live, ["task"])).toBe(0);
    expect(versionOf(back, ["task"])).toBe(1);
    expect(takeConnection(back, "live")).toBe(back);
  });
});
