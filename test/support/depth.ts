/**
 * How thorough tests are that repeat one check with many cases. `npm test` takes some of each; with
 * WORKSPACE_TASKS_DEPTH=full, as a gate of `npm run check`, they take all.
 */
export const isFullDepth = process.env["WORKSPACE_TASKS_DEPTH"] === "full";

export const atDepth = <Value>(quick: Value, full: Value): Value => (isFullDepth ? full : quick);
