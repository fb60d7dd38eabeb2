// Prints the steps, webhooks and tasks of `npm start`.

import type { Task } from "@workspace-tasks/sdk";

const colours = process.stdout.isTTY && !process.env["NO_COLOR"];
const paint = (code: number, text: string) => (colours ? `\u001b[${code}m${text}\u001b[0m` : text);

export function print(text: string): void {
  console.log(text);
}

export function printStep(subject: string, text: string): void {
  print(`${paint(1, subject.padEnd(14))} ${text}`);
}

/** Prints a webhook that a handler received. */
export function printWebhook(event: string, text: string): void {
  print(`${paint(36, `  ← ${event}`.padEnd(26))} ${text}`);
}

/** A task as the receiver knows it. */
export interface ReceivedTask {
  readonly taskId: string;
  readonly status: string;
  readonly stages: number;
}

/** Prints service and receiver side by side, and returns the number of tasks that differ. */
export function printTasks(tasks: readonly Task[], received: readonly ReceivedTask[]): number {
  const byId = new Map(received.map((task) => [task.taskId, task]));
  let differences = 0;
  print("");
  print(paint(2, `${"task".padEnd(40)}${"service".padEnd(24)}receiver`));
  for (const task of tasks) {
    const found = byId.get(task.id);
    const service = `${task.status}, ${task.subTasks.length} stages`;
    const receiver = found ? `${found.status}, ${found.stages} stages` : "unknown";
    if (service !== receiver) differences++;
    print(`${task.id.padEnd(40)}${service.padEnd(24)}${receiver}`);
  }
  print("");
  return differences;
}
