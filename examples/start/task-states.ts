// Keeps what the webhooks reported about each task, in memory.

import type { Task } from "@workspace-tasks/sdk";
import type { ReceivedTask } from "./output.ts";

const timeoutMs = 60_000;

export interface TaskStates {
  setTask(taskId: string, status: string): void;
  addStage(taskId: string, stageId: string): void;
  list(): readonly ReceivedTask[];
  /** Resolves with the ids of the tasks once there are `count` of them. */
  waitForCount(count: number): Promise<readonly string[]>;
  /** Resolves once the states equal those of the given tasks. */
  waitFor(tasks: readonly Task[]): Promise<void>;
}

export function createTaskStates(): TaskStates {
  const statuses = new Map<string, string>();
  const stages = new Map<string, Set<string>>();
  const listeners = new Set<() => void>();

  const list = () =>
    [...statuses].map(([taskId, status]) => ({ taskId, status, stages: stages.get(taskId)?.size ?? 0 }));
  const notify = () => {
    for (const listener of listeners) listener();
  };
  const until = (holds: () => boolean) =>
    new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        listeners.delete(listener);
        reject(new Error(`the expected webhooks did not arrive within ${timeoutMs} ms`));
      }, timeoutMs);
      const listener = () => {
        if (!holds()) return;
        clearTimeout(timer);
        listeners.delete(listener);
        resolve();
      };
      listeners.add(listener);
      listener();
    });

  return {
    list,
    setTask(taskId, status) {
      statuses.set(taskId, status);
      notify();
    },
    addStage(taskId, stageId) {
      stages.set(taskId, (stages.get(taskId) ?? new Set()).add(stageId));
      notify();
    },
    async waitForCount(count) {
      await until(() => statuses.size >= count);
      return [...statuses.keys()];
    },
    waitFor: (tasks) =>
      until(() =>
        tasks.every(
          ({ id, status, subTasks }) =>
            statuses.get(id) === status && (stages.get(id)?.size ?? 0) === subTasks.length,
        ),
      ),
  };
}
