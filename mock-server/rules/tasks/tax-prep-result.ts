import type { TaxPrepResult } from "@workspace-tasks/events/fields";
import { getOrCreate } from "@workspace-tasks/kernel/cache.ts";
import type { TaskRecord } from "../../state/records.ts";
import type { World } from "../../world/world.ts";
import { worldCache } from "../../world/world-cache.ts";

/** A generated result for the client and the documents it holds. */
export function draftTaxPrepResult(world: World, task: TaskRecord): TaxPrepResult {
  const client = world.state.clients.get(task.clientId);
  const taxYear = client?.taxYear ?? new Date(task.startedAtMs).getUTCFullYear() - 1;
  const returnType = client?.returnType ?? "F1040";
  const documentCount = documentCounts(world)(task.clientId);
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

/** How many documents a client holds. Documents are only ever added: while their number is the same, so are the counts. */
const documentCounts = worldCache(({ state }) => {
  let counted = new Map<string, number>();
  let size = 0;
  return (clientId: string): number => {
    if (size !== state.documents.size) {
      size = state.documents.size;
      counted = new Map();
      for (const document of state.documents.values()) {
        counted.set(document.clientId, (counted.get(document.clientId) ?? 0) + 1);
      }
    }
    return counted.get(clientId) ?? 0;
  };
});
