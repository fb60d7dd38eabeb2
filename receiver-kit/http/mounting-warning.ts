import type { WebhookRejectedError } from "../errors.ts";

/** A listener that emits one process warning for a body that was read before: every delivery would be rejected. */
export function createMountingWarning(): (rejection: WebhookRejectedError) => void {
  let warned = false;
  return (rejection) => {
    if (warned || rejection.code !== "BODY_CONSUMED") return;
    warned = true;
    process.emitWarning(rejection.message, { code: "WORKSPACE_TASKS_BODY_CONSUMED" });
  };
}
