// The numbers of intakes and consumers on RabbitMQ; telemetry reads them without loading RabbitMQ.

import type { RejectionCounts } from "./receiver-stats.ts";

export interface BrokerConnectionStats {
  /** Host and port of the node; `null` while there is no connection. */
  readonly node: string | null;
  /** Connections that were lost. */
  readonly lost: number;
  /** How long there has been no connection; `null` while there is one. */
  readonly unavailableForMs: number | null;
  /** How long the broker has read nothing, because it is short of memory or disk; `null` while it reads. */
  readonly blockedForMs: number | null;
}

export interface PublishCounts {
  /** On disk on a majority of the queue's members. */
  confirmed: number;
  /** No queue takes them: the topology is incomplete. */
  returned: number;
  /** Rejected by the queue, because it is full or has no majority. */
  nacked: number;
  /** Neither confirmed nor rejected in time. */
  timedOut: number;
  /** In flight when their connection was lost. */
  interrupted: number;
  /** Not sent: there was no connection, it was blocked, or too much was in flight. */
  unsent: number;
}

export interface RabbitmqIntakeStats {
  readonly source: string;
  readonly connection: BrokerConnectionStats;
  /** How long no delivery could be published; `null` once one could, or a lost connection is open again. */
  readonly failingForMs: number | null;
  /** Deliveries since this intake was created, by what became of their messages. */
  readonly published: Readonly<PublishCounts>;
  /** Requests without a 2xx response since this intake was created, by code. */
  readonly rejections: Readonly<RejectionCounts>;
  /** Deliveries without a confirm right now. */
  readonly inFlight: { readonly messages: number; readonly bytes: number };
}

export interface ConsumeCounts {
  /** Messages of the broker, redelivered ones included. */
  delivered: number;
  redelivered: number;
  /** Stored, or known to the inbox, and acknowledged. */
  stored: number;
  /** Attempts to store a message that failed. */
  failed: number;
  /** Moved to the parking queue. */
  parked: number;
  /** Channels that were closed, by the broker or to leave the queue to another process. */
  released: number;
}

export interface PartitionStats {
  readonly queue: string;
  /** False while the queue is left to other processes, or there is no connection. */
  readonly isConsuming: boolean;
  /** Messages in this process that are not stored yet. */
  readonly waiting: number;
  /** How long no message could be stored; `null` while they can. */
  readonly failingForMs: number | null;
}

export interface RabbitmqConsumerStats {
  /** The source of the receivers behind it. */
  readonly source: string;
  readonly connection: BrokerConnectionStats;
  /** Messages since this consumer was created. */
  readonly messages: Readonly<ConsumeCounts>;
  readonly queues: readonly PartitionStats[];
}
