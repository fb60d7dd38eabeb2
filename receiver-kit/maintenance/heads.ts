import { optional, positiveInteger, strictOptions } from "../../sdk/kernel/schema.ts";
import { decodePosition, formatInstant, orderKey } from "../event/event-order.ts";
import type { InboxOperatorStore } from "../inbox/inbox.ts";
import { nameOption, textOption } from "../options.ts";

/** The newest applied event of a task or a stage. */
export interface OrderingHead {
  readonly taskId: string;
  /** Only of a stage. */
  readonly subTaskId?: string | undefined;
  /** RFC 3339, to the nanosecond. */
  readonly occurredAt: string;
  readonly status: string | null;
  readonly workspaceId: string | null;
  /** When it was applied, in milliseconds since the epoch. */
  readonly movedAtMs: number;
  /** For `afterKey`. */
  readonly key: string;
}

export interface OrderingHeadFilter {
  /** Only of this task and its stages. */
  readonly taskId?: string | undefined;
  /** Only after the head with this key; for pages. */
  readonly afterKey?: string | undefined;
  /** Default 50. */
  readonly limit?: number | undefined;
  /** Required where `secrets` finds the tenant. */
  readonly tenant?: string | undefined;
}

/** Names the head of a task, or of one of its stages. */
export interface OrderingHeadReference {
  readonly taskId: string;
  readonly subTaskId?: string | undefined;
  /** Required where `secrets` finds the tenant. */
  readonly tenant?: string | undefined;
}

export const headFilterSchema = strictOptions<OrderingHeadFilter>()({
  taskId: optional(textOption),
  afterKey: optional(textOption),
  limit: optional(positiveInteger),
  tenant: optional(nameOption),
});

export const headReferenceSchema = strictOptions<OrderingHeadReference>()({
  taskId: textOption,
  subTaskId: optional(textOption),
  tenant: optional(nameOption),
});

export async function listHeads(
  inbox: InboxOperatorStore,
  { taskId, ...filter }: Omit<OrderingHeadFilter, "tenant"> & { readonly source: string },
): Promise<readonly OrderingHead[]> {
  // The key of a stage continues that of its task after the id.
  const keyPrefix = taskId === undefined ? undefined : orderKey([taskId]).slice(0, -1);
  const found = await inbox.listHeads({ ...filter, keyPrefix });
  return found.map(({ key, position, status, workspaceId, movedAtMs }) => {
    const [taskId = "", subTaskId] = JSON.parse(key) as string[];
    const occurredAt = formatInstant(decodePosition(position).occurredAt);
    const stage = subTaskId === undefined ? {} : { subTaskId };
    return { taskId, ...stage, occurredAt, status, workspaceId, movedAtMs, key };
  });
}

/** False when there is no such head. */
export function resetHead(
  inbox: InboxOperatorStore,
  source: string,
  { taskId, subTaskId }: Omit<OrderingHeadReference, "tenant">,
): Promise<boolean> {
  const key = orderKey(subTaskId === undefined ? [taskId] : [taskId, subTaskId]);
  return inbox.resetHead({ source, key });
}
