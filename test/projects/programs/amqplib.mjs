// Handles a delivery that has been in a queue of RabbitMQ; the name of the queues is the argument.
import assert from "node:assert/strict";
import { createReceiver, memoryInbox } from "@workspace-tasks/receiver-kit";
import { rabbitmqConsumer, rabbitmqIntake } from "@workspace-tasks/receiver-rabbitmq";
import { deliver } from "./deliver.mjs";

const [, , name] = process.argv;
const secrets = [];
const topology = { urls: [process.env.RABBITMQ_URL], name, partitions: 1, replicas: 1 };
const intake = rabbitmqIntake({ ...topology, secrets: () => secrets });
const receiver = createReceiver({ secrets: () => secrets, inbox: memoryInbox() });
const statuses = [];
receiver.onState("task", ({ taskId, status }) => void statuses.push([taskId, status]));
const consumer = rabbitmqConsumer({ ...topology, receivers: [receiver] });
await intake.start();
await consumer.start();
const taskId = await deliver(secrets, receiver, intake);
assert.deepEqual(statuses.at(-1), [taskId, "COMPLETED"]);
await intake.close();
await consumer.close();
await receiver.close();
