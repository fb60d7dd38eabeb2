import * as cli from "@workspace-tasks/kernel/cli/command-line.ts";
import {
  CommandError,
  text,
  toggle,
  UsageError,
  wholeNumber,
} from "@workspace-tasks/kernel/cli/command-line.ts";
import * as parts from "@workspace-tasks/receiver-kit/parts";
import type { ChannelModel, GetMessage } from "amqplib";
import { connectAmqplib, explain } from "../amqp-client.ts";
import { decodeDelivery, movedMessage, taskOf } from "../delivery-message.ts";
import { reasonOf } from "../incident-log.ts";
import { shardOf } from "../shard.ts";
import { parkingQueueName, routeTo } from "../topology.ts";

const { rabbitmq } = parts.defaults;
const urlVariable = "RABBITMQ_URL";
const unparked = { "parked-from": undefined, "parked-because": undefined };
const count = { min: 1, max: 1_000_000 } as const;

const unpark = cli.defineCommand({
  name: "unpark",
  synopsis: "--shards <n> [options]",
  about:
    "Moves parked deliveries back, each to the queue of its task in its own shard. What is no delivery, or left out, stays parked.",
  flags: {
    shards: wholeNumber("number of shards, as of intake and consumers", count),
    url: text("<url>", `amqp:// URL of a node (${urlVariable})`),
    name: text("<name>", "name of intake and consumers", rabbitmq.name),
    queues: wholeNumber("version of intake and consumers", { ...count, fallback: rabbitmq.version }),
    from: text("<queue>", "only what was parked from this queue"),
    because: text("<text>", "only where parked-because contains this"),
    dryRun: toggle("move nothing, show what would be moved"),
  },
  notes: "Exit code: 0 done, 1 the broker cannot be reached or rejects a delivery, 2 wrong arguments.",
  async run(args, io) {
    cli.noArgument(args);
    const { shards, url = io.env[urlVariable], from, because, ...flags } = args.flags;
    if (shards === undefined) throw new UsageError("expected --shards <n>");
    if (url === undefined || !URL.canParse(url)) throw new UsageError(`expected --url or ${urlVariable}`);
    const isWanted = ({ properties }: GetMessage) => {
      const headers = properties.headers ?? {};
      if (from !== undefined && headers["parked-from"] !== from) return false;
      return because === undefined || String(headers["parked-because"]).includes(because);
    };
    const names = { name: flags.name, version: flags.queues, shards };
    const socket = new AbortController();
    const options = { timeout: rabbitmq.operationTimeoutMs, signal: socket.signal };
    const connection = await connectAmqplib(url, options).catch(fail(url));
    try {
      const { moved, left } = await moveParked(connection, names, isWanted, flags.dryRun).catch(fail(url));
      const lines = [...moved].map(([queue, messages]) => `${messages} to ${queue}\n`).join("");
      return cli.write(io, `${lines}${flags.dryRun ? "would be moved; " : ""}${left} left\n`);
    } finally {
      // What was not acknowledged stays parked.
      socket.abort();
    }
  },
});

const fail = (url: string) => (error: unknown) => {
  throw new CommandError(reasonOf(explain(new URL(url).host, error)));
};

async function moveParked(
  connection: ChannelModel,
  names: Parameters<typeof routeTo>[0],
  isWanted: (message: GetMessage) => boolean,
  isDryRun: boolean,
): Promise<{ readonly moved: ReadonlyMap<string, number>; readonly left: number }> {
  const failed = new Promise<never>((_, reject) => connection.on("error", reject));
  const channel = await connection.createConfirmChannel();
  channel.on("error", () => {});
  let returned = "";
  channel.on("return", ({ fields }) => {
    returned = fields.routingKey;
  });
  const parking = parkingQueueName(names);
  const moved = new Map<string, number>();
  let left = 0;
  // What is parked meanwhile waits for the next time.
  for (let { messageCount } = await channel.checkQueue(parking); messageCount > 0; messageCount--) {
    const message = await Promise.race([channel.get(parking), failed]);
    if (!message) break;
    const delivery = isWanted(message) ? decodeDelivery(message) : undefined;
    if (!delivery) {
      left += 1;
      continue;
    }
    const task = taskOf(delivery.webhook.id, parts.readJson(message.content));
    const { exchange, key } = routeTo(names, task, shardOf(task, names.shards));
    moved.set(exchange, (moved.get(exchange) ?? 0) + 1);
    if (isDryRun) continue;
    channel.publish(exchange, key, message.content, movedMessage(message, unparked));
    await Promise.race([channel.waitForConfirms(), failed]);
    if (returned)
      throw new CommandError(`no queue is bound to ${exchange}: start the consumers of its shard`);
    channel.ack(message);
  }
  await Promise.race([channel.checkQueue(parking), failed]);
  return { moved, left };
}

/** Runs `workspace-tasks-rabbitmq` and returns its exit code. */
export function runRabbitmqCommand(argv: readonly string[], io: cli.CommandIo): Promise<number> {
  const about = "Repairs what is in RabbitMQ for receivers.";
  const subcommands = { unpark: { about: "move parked deliveries back to their shards", run: unpark } };
  return cli.runCommandGroup({ name: "", about, subcommands }, argv, io);
}
