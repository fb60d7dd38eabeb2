import type { WebhookRejectedError } from "../errors.ts";

/**
 * A listener that puts a mounting mistake on the process's warning channel, once: every delivery would fail, and
 * only the sender would know.
 */
export function createMountingWarning(): (rejection: WebhookRejectedError) => void {
  let warned = false;
  return (rejection) => {
    if (warned || rejection.code !== "BODY_CONSUMED") return;
    warned = true;
    process.emitWarning(rejection.message, { code: "WORKSPACE_TASKS_BODY_CONSUMED" });
  };
}
