// The parts of the products that are explored. Bundled with their private fields made visible, for the fingerprints.

export { Handlers } from "../../../receiver-kit/attempt/handlers.ts";
export { openOnce } from "../../../receiver-kit/inbox/inbox.ts";
export { memoryInbox } from "../../../receiver-kit/inbox/memory/memory-inbox.ts";
export { resolveReceiverOptions } from "../../../receiver-kit/receiver-options.ts";
export { Ingest } from "../../../receiver-kit/worker/ingest.ts";
export { Worker } from "../../../receiver-kit/worker/worker.ts";
