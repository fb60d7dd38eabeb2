// A broker with quorum queues under a virtual clock: what it has confirmed stays in its queue until it is acknowledged. A
// lost connection gives everything unacknowledged to the next consumer, at any place of the queue. It may lose confirms,
// refuse messages, deliver twice and out of order, and cut connections.

import type {
  AmqpChannel,
  AmqpConnect,
  AmqpConnection,
  AmqpMessage,
  AmqpPublishOptions,
} from "../../../receiver-kit/rabbitmq/amqp.ts";
import type { Random } from "./random.ts";

export type BrokerFault = "refused" | "nack" | "lostConfirm" | "cut" | "reorder" | "repeat" | "late";

export interface SimulatedBroker {
  readonly connect: AmqpConnect;
  /** How often each fault was injected. */
  readonly faults: Record<BrokerFault, number>;
  disableFaults(): void;
  /** Cuts every connection, as when the node ends that leads all queues. */
  failOver(): void;
  /** Bodies in the queues, delivered or not. */
  bodies(): readonly string[];
}

interface Stored {
  readonly content: Buffer;
  readonly options: AmqpPublishOptions;
  deliveries: number;
}

interface Consumer {
  readonly queue: string;
  readonly onMessage: (message: AmqpMessage | null) => void;
  /** Sent, and not at the client yet. */
  readonly inTransit: Set<Stored>;
  readonly unacknowledged: Map<number, Stored>;
  isOpen: boolean;
}

interface Clock {
  schedule(delayMs: number, run: () => void): () => void;
}

const probability = 0.04;

export function createBroker(clock: Clock, random: Random): SimulatedBroker {
  const queues = new Map<string, Stored[]>();
  const bindings = new Map<string, string[]>();
  const consumers: Consumer[] = [];
  const faults: Record<BrokerFault, number> = {
    ...{ refused: 0, nack: 0, lostConfirm: 0, cut: 0, reorder: 0, repeat: 0, late: 0 },
  };
  const open = new Set<() => void>();
  let areFaultsOff = false;
  let tags = 0;
  const occurs = (fault: BrokerFault) => {
    if (areFaultsOff || !random.happens(probability)) return false;
    faults[fault] += 1;
    return true;
  };
  const later = (run: () => void) => {
    const delayMs = occurs("late") ? random.integer(1_000, 20_000) : random.integer(0, 20);
    clock.schedule(delayMs, run);
  };
  const reply = <Value>(value: Value) => new Promise<Value>((resolve) => later(() => resolve(value)));

  /** Gives the messages of a queue to its active consumer, the first one that is open. */
  const pump = (queue: string) => {
    const active = consumers.find((consumer) => consumer.queue === queue && consumer.isOpen);
    const waiting = queues.get(queue) ?? [];
    while (active && waiting.length > 0) {
      const at = occurs("reorder") ? random.integer(0, waiting.length - 1) : 0;
      const [stored] = waiting.splice(at, 1);
      if (!stored) return;
      stored.deliveries += 1;
      active.inTransit.add(stored);
      later(() => {
        if (!active.isOpen) return;
        // Tags increase in the order of arrival: an acknowledgement may be for all before it.
        tags += 1;
        active.inTransit.delete(stored);
        active.unacknowledged.set(tags, stored);
        const fields = { deliveryTag: tags, redelivered: stored.deliveries > 1 };
        active.onMessage({ content: stored.content, fields, properties: stored.options });
        if (active.isOpen && occurs("repeat")) cutConsumer(active);
      });
    }
  };

  const cutConsumer = (consumer: Consumer) => {
    for (const cut of [...open]) if (consumer.isOpen) cut();
  };

  const requeue = (consumer: Consumer) => {
    consumer.isOpen = false;
    const waiting = queues.get(consumer.queue) ?? [];
    for (const stored of [...consumer.unacknowledged.values(), ...consumer.inTransit]) {
      waiting.splice(random.integer(0, waiting.length), 0, stored);
    }
    consumer.unacknowledged.clear();
    consumer.inTransit.clear();
    consumers.splice(consumers.indexOf(consumer), 1);
    later(() => pump(consumer.queue));
  };

  const store = (exchange: string, key: string, content: Buffer, options: AmqpPublishOptions): boolean => {
    const bound = exchange === "" ? [key] : (bindings.get(exchange) ?? []);
    const hash = [...key].reduce((sum, char) => sum + char.charCodeAt(0), 0);
    const queue = bound[hash % Math.max(1, bound.length)];
    const waiting = queue === undefined ? undefined : queues.get(queue);
    if (!waiting || queue === undefined) return false;
    waiting.push({ content, options, deliveries: 0 });
    later(() => pump(queue));
    return true;
  };

  const openChannel = (own: Consumer[], isAlive: () => boolean): AmqpChannel => {
    const listeners = new Map<string, ((value: never) => void)[]>();
    const emit = (event: string, value?: unknown) => {
      for (const listener of listeners.get(event) ?? []) listener(value as never);
    };
    const addQueue = (name: string) => {
      queues.set(name, queues.get(name) ?? []);
      return reply({ messageCount: queues.get(name)?.length ?? 0, consumerCount: 0 });
    };
    const channelConsumers: Consumer[] = [];
    let isClosed = false;
    const channel: AmqpChannel = {
      assertExchange: (name) => {
        bindings.set(name, bindings.get(name) ?? []);
        return reply({});
      },
      checkExchange: () => reply({}),
      assertQueue: addQueue,
      bindQueue(queue, exchange) {
        const bound = bindings.get(exchange) ?? [];
        if (!bound.includes(queue)) bound.push(queue);
        return reply({});
      },
      prefetch: () => reply({}),
      async consume(queue, onMessage) {
        if (isClosed || !isAlive()) throw new Error("the channel is closed");
        const consumer: Consumer = {
          queue,
          onMessage,
          inTransit: new Set(),
          unacknowledged: new Map(),
          isOpen: true,
        };
        own.push(consumer);
        channelConsumers.push(consumer);
        consumers.push(consumer);
        later(() => pump(queue));
        return reply({ consumerTag: queue });
      },
      cancel: () => reply({}),
      publish(exchange, key, body, options, onConfirm) {
        const content = Buffer.from(body);
        later(() => {
          if (!isAlive()) return;
          if (occurs("nack")) return onConfirm(new Error("nack"));
          const isStored = store(exchange, key, content, options);
          if (!isStored) emit("return", { properties: { correlationId: options.correlationId } });
          if (occurs("lostConfirm")) return;
          later(() => isAlive() && onConfirm(null));
        });
        return true;
      },
      ack({ fields }, allUpTo) {
        for (const consumer of channelConsumers) {
          for (const tag of [...consumer.unacknowledged.keys()]) {
            if (tag === fields.deliveryTag || (allUpTo && tag < fields.deliveryTag))
              consumer.unacknowledged.delete(tag);
          }
        }
      },
      async close() {
        isClosed = true;
        for (const consumer of channelConsumers) if (consumer.isOpen) requeue(consumer);
        emit("close");
      },
      on(event: string, listener: (value: never) => void) {
        listeners.set(event, [...(listeners.get(event) ?? []), listener]);
      },
    };
    return channel;
  };

  const connect: AmqpConnect = async () => {
    await reply(undefined);
    if (occurs("refused")) throw new Error("connect ECONNREFUSED");
    const own: Consumer[] = [];
    const closeListeners: ((error?: Error) => void)[] = [];
    let isAlive = true;
    const end = (error?: Error) => {
      if (!isAlive) return;
      isAlive = false;
      open.delete(cut);
      for (const consumer of own) if (consumer.isOpen) requeue(consumer);
      for (const listener of closeListeners) listener(error);
    };
    const cut = () => end(new Error("read ECONNRESET"));
    open.add(cut);
    const connection: AmqpConnection = {
      async createConfirmChannel() {
        if (occurs("cut")) cut();
        await reply(undefined);
        return openChannel(own, () => isAlive);
      },
      close: async () => end(),
      destroy: () => end(),
      on(event: string, listener: (value: never) => void) {
        if (event === "close") closeListeners.push(listener as (error?: Error) => void);
      },
    };
    return connection;
  };

  return {
    connect,
    faults,
    disableFaults() {
      areFaultsOff = true;
    },
    failOver() {
      for (const cut of [...open]) cut();
    },
    bodies: () => {
      const held = consumers.flatMap(({ unacknowledged, inTransit }) => [
        ...unacknowledged.values(),
        ...inTransit,
      ]);
      return [...queues.values()]
        .flat()
        .concat(held)
        .map(({ content }) => content.toString("utf8"));
    },
  };
}
