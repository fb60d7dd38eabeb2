import type { RateLimitSnapshot } from "../rate-limit/rate-limiter.ts";
import type { ClientStatus } from "./import-state.ts";

/** What the import began last. Two jobs are worked on at a time. */
export type ImportPhase = "reading" | "uploading" | "adding" | "attaching" | "starting" | "done";

/** How many clients of an import have which status. `open`: read, and not settled yet. */
export type ImportCounts = Readonly<Record<ClientStatus | "open", number>>;

export interface ImportProgress {
  readonly phase: ImportPhase;
  /** Of the clients that were read. */
  readonly counts: ImportCounts;
  /** Clients of the whole input; `null` while it is unknown. */
  readonly clientsTotal: number | null;
  /** Bytes of files that the service confirmed in this process. */
  readonly uploadedBytes: number;
  /** Estimated from the rate limit; `null` without a rate limit, and while the total is unknown. */
  readonly remainingMs: number | null;
}

const callsPerJob = 3;

/** A call for the artifacts of each client that is not settled, and those of its job, as the rate limit permits them. */
export function estimateMs(
  clientsTotal: number | null,
  { open: _, ...settled }: ImportCounts,
  worksPerJob: number,
  rateLimit: RateLimitSnapshot | undefined,
): number | null {
  if (clientsTotal === null || rateLimit === undefined) return null;
  const done = Object.values(settled).reduce((sum, count) => sum + count, 0);
  const clients = Math.max(0, clientsTotal - done);
  const calls = clients + callsPerJob * Math.ceil(clients / worksPerJob);
  const { limit, remaining, windowMs } = rateLimit;
  return Math.round((Math.max(0, calls - remaining) / limit) * windowMs);
}
