import * as s from "@workspace-tasks/kernel/schema.ts";

export interface ReconcilableStage {
  readonly id: string;
  readonly type: string;
  readonly status: string;
  readonly startedAt: string;
  readonly completedAt?: string | null | undefined;
  readonly errorMessage?: string | null | undefined;
}

export interface ReconcilableTask extends ReconcilableStage {
  readonly subTasks: readonly ReconcilableStage[];
  readonly result?: { readonly __typename?: string } | null | undefined;
  readonly client?: { readonly id: string } | null | undefined;
}

/** What reconciliation needs of the SDK's client, or of anything that reads the tasks API. */
export interface ReconcileClient {
  readonly tasks: {
    /**
     * Lists all tasks, newest first, `limit` per request, without the first `offset` of them; with `ids`, those of them that
     * exist.
     */
    list(options: {
      readonly ids?: readonly string[];
      readonly limit?: number;
      readonly offset?: number;
    }): AsyncIterable<ReconcilableTask>;
  };
  /** Called once for the workspace's id when `workspaceId` is not given. */
  me?(): PromiseLike<unknown>;
}

export const isReconcileClient = (given: unknown): given is ReconcileClient =>
  typeof (given as ReconcileClient | null | undefined)?.tasks?.list === "function";

export const reconcileClient = s.refine<ReconcileClient>(
  "a client with tasks.list, such as createClient(…)",
  isReconcileClient,
);
