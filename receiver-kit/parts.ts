// What `@workspace-tasks/receiver-rabbitmq`, the command `check-receiver` and the page of the inbox are made of. Not public: it changes with any
// release, and packages that depend on each other have the same version.

export { version } from "@workspace-tasks/kernel/version.ts";
export { namedWorkspace, readJson } from "./event/parse-delivery.ts";
export { handleFetch } from "./http/fetch-handler.ts";
export { createRejectionLog } from "./http/rejection-log.ts";
export { guardLogger, loggerOption } from "./logger.ts";
export { defaults, nameOption, parseOptions, randomOption, sharedOptions } from "./options.ts";
export type {
  Action,
  ActionResult,
  ErrorGroup,
  ErrorList,
  EventDetail,
  EventSummary,
  Overview,
  Page,
  Preview,
  TaskEvent,
  TaskEvents,
} from "./page/contract.ts";
export { closeSchema } from "./receiver-options.ts";
export { parseSecret, signatureOf } from "./signature/secret.ts";
export { tenantSource, throwIfOtherWorkspace } from "./signature/tenant.ts";
export type {
  BrokerConnectionStats,
  ConsumeCounts,
  PublishCounts,
  RabbitmqConsumerStats,
  RabbitmqIntakeStats,
} from "./stats/broker-stats.ts";
export { observe } from "./stats/receiver-telemetry.ts";
export { InFlight } from "./worker/claimer.ts";
export { OutageLog } from "./worker/outage-log.ts";
