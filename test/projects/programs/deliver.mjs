// A mock signs the events of a task and delivers them to a receiver in this process.
import { isDeepStrictEqual } from "node:util";
import { createMockServer } from "@workspace-tasks/mock-server";

const url = "https://receiver.example/webhooks";

/**
 * Resolves when a handler of `receiver` has committed what it wrote at the event that completes a task.
 *
 * @param secrets of `receiver` and `sink`; gets the one of the mock
 * @param sink has the method `fetch` and takes the deliveries: the receiver, or what is in front of it
 */
export async function deliver(secrets, receiver, sink = receiver) {
  const received = new Map([[url, (request) => sink.fetch(request)]]);
  const mock = await createMockServer({ listen: false, receivers: received });
  secrets.push((await mock.control.createEndpoint({ url })).signingSecret);
  await receiver.start();
  const { taskId } = await mock.control.startTask({
    taskType: "TAX_PREP",
    progression: "immediate",
    stages: [],
  });
  const expected = ["task.running succeeded", "task.completed succeeded"];
  await until(async () => {
    const { data } = await mock.control.listDeliveries({ subject: taskId });
    const { attempts } = await receiver.stats();
    return attempts.done === 2 && isDeepStrictEqual(data.map(textOf), expected);
  });
  await mock.close();
  return taskId;
}

const textOf = ({ event, status }) => `${event} ${status}`;

/** Has no time limit: the matrix ends a program that hangs. */
async function until(condition) {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 20));
}
