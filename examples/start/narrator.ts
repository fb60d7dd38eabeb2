import type { Task } from "workspace-tasks/sdk";

const colours = process.stdout.isTTY && !process.env["NO_COLOR"];
const paint = (code: number, text: string) => (colours ? `\u001b[${code}m${text}\u001b[0m` : text);

export function say(text: string): void {
  console.log(text);
}

/** One step of the flow, as it happens. */
export function step(subject: string, text: string): void {
  say(`${paint(1, subject.padEnd(14))} ${text}`);
}

/** A webhook that a handler has just seen. */
export function heard(event: string, text: string): void {
  say(`${paint(36, `  ← ${event}`.padEnd(26))} ${text}`);
}

/** What the receiver believes of a task. */
export type BoardRow = { readonly taskId: string; readonly status: string; readonly stages: number };

/** Prints service and receiver side by side; answers how many tasks differ. */
export function taskTable(tasks: readonly Task[], board: readonly BoardRow[]): number {
  const believed = new Map(board.map((row) => [row.taskId, row]));
  let differences = 0;
  say("");
  say(paint(2, `${"task".padEnd(40)}${"service".padEnd(24)}receiver`));
  for (const task of tasks) {
    const row = believed.get(task.id);
    const service = `${task.status}, ${task.subTasks.length} stages`;
    const receiver = row ? `${row.status}, ${row.stages} stages` : "never heard of it";
    if (service !== receiver) differences++;
    say(`${task.id.padEnd(40)}${service.padEnd(24)}${receiver}`);
  }
  say("");
  return differences;
}
