// What `@workspace-tasks/receiver-rabbitmq` and the command `check-receiver` are made of. Not public: it changes with any
// release, and packages that depend on each other have the same version.

export { version } from "@workspace-tasks/kernel/version.ts";
export { namedWorkspace, readJson } from "./event/parse-delivery.ts";
export { handleFetch } from "./http/fetch-handler.ts";
export { createRejectionLog } from "./http/rejection-log.ts";
export { guardLogger, loggerOption } from "./logger.ts";
export { defaults, nameOption, parseOptions, randomOption, sharedOptions } from "./options.ts";
export { closeSchema } from "./receiver-options.ts";
export { parseSecret } from "./signature/secret.ts";
export { signatureOf } from "./signature/signature-of.ts";
export { tenantSource } from "./signature/tenant-source.ts";
export { throwIfOtherWorkspace } from "./signature/tenant-workspace.ts";
export type {
  BrokerConnectionStats,
  ConsumeCounts,
  PublishCounts,
  RabbitmqConsumerStats,
  RabbitmqIntakeStats,
} from "./stats/broker-stats.ts";
export { observe } from "./stats/receiver-telemetry.ts";
export { OutageLog } from "./worker/outage-log.ts";
