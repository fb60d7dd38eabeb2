import type { MockServer } from "workspace-tasks/mock-server";

/** Starts tasks at once: no event loop turn, and so no delivery, happens between them. */
export async function startTasks(
  mock: MockServer,
  count: number,
  input: Parameters<MockServer["control"]["startTask"]>[0],
): Promise<void> {
  await Promise.all(Array.from({ length: count }, () => mock.control.startTask(input)));
}
