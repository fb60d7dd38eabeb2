/**
 * How thorough tests are that repeat one check with many cases. `npm test` takes some of each, always the same ones; with
 * WORKSPACE_TASKS_DEPTH=full they take all, and new random ones: before a release. A property that fails prints its seed.
 */
export const isFullDepth = process.env["WORKSPACE_TASKS_DEPTH"] === "full";

export const atDepth = <Value>(quick: Value, full: Value): Value => (isFullDepth ? full : quick);
