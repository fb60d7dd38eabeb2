import type { TaxPrepResult } from "@workspace-tasks/events/fields";
import { getOrCreate } from "@workspace-tasks/kernel/cache.ts";
import type { TaskRecord } from "../../state/records.ts";
import type { World } from "../../world/world.ts";
import { worldCache } from "../../world/world-cache.ts";
import { documentsOfClient } from "../record-groups.ts";

/** A generated result for the client and the documents it holds. */
export function draftTaxPrepResult(world: World, task: TaskRecord): TaxPrepResult {
  const client = world.state.clients.get(task.clientId);
  const taxYear = client?.taxYear ?? new Date(task.startedAtMs).getUTCFullYear() - 1;
  const returnType = client?.returnType ?? "F1040";
  const documentCount = documentsOfClient(world, task.clientId).length;
  const key = `${taxYear}/${documentCount}/${returnType}`;
  return getOrCreate(results(world), key, () => compose(returnType, taxYear, documentCount));
}

/** Tasks with equal results share one object: a result is never changed, only replaced. */
const results = worldCache(() => new Map<string, TaxPrepResult>());

function compose(returnType: string, taxYear: number, documentCount: number): TaxPrepResult {
  const reviewItems =
    documentCount > 0
      ? []
      : [
          {
            severity: "warning",
            category: "missing-document",
            description: "The client holds no source document.",
          },
        ];
  return {
    taxYear,
    returnType,
    summary: `${returnType} for ${taxYear} prepared from ${documentCount} documents.`,
    documentCount,
    extractedFormCount: documentCount,
    reviewItemCount: reviewItems.length,
    reviewItems,
  };
}
