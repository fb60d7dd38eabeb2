import type { TaxPrepResult } from "../../../sdk/events/index.ts";
import type { TaskRecord } from "../../state/records.ts";
import type { World } from "../../world/world.ts";
import { worldCache } from "../../world/world-cache.ts";
import { countDocuments } from "./document-count.ts";

/** The result of a tax preparation that nobody scripted: it fits the client and the documents held. */
export function draftTaxPrepResult(world: World, task: TaskRecord): TaxPrepResult {
  const client = world.state.clients.get(task.clientId);
  const taxYear = client?.taxYear ?? new Date(task.startedAtMs).getUTCFullYear() - 1;
  const returnType = client?.returnType ?? "F1040";
  const documentCount = countDocuments(world, task.clientId);
  return results(world)(returnType, taxYear, documentCount);
}

/** Tasks with equal results share one object: a result is never changed, only replaced. */
const results = worldCache(() => {
  const known = new Map<string, TaxPrepResult>();
  return (returnType: string, taxYear: number, documentCount: number): TaxPrepResult => {
    const key = `${taxYear}/${documentCount}/${returnType}`;
    const result = known.get(key) ?? compose(returnType, taxYear, documentCount);
    known.set(key, result);
    return result;
  };
});

function compose(returnType: string, taxYear: number, documentCount: number): TaxPrepResult {
  const reviewItems =
    documentCount > 0
      ? []
      : [
          {
            severity: "warning",
            category: "missing-document",
            description: "No source document was held for this client.",
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
