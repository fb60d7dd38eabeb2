import { deferred } from "@workspace-tasks/kernel/deferred.ts";
import type { RateLimitSnapshot } from "../rate-limit/rate-limiter.ts";
import type { ClientStatus } from "./import-state.ts";

/** What the import began last. Two jobs are worked on at a time. */
export type ImportPhase = "reading" | "uploading" | "adding" | "attaching" | "starting" | "done";

/** How many clients of an import have which status. `open`: not settled yet. */
export type ImportCounts = Readonly<Record<ClientStatus, number>>;

export interface ImportProgress {
  readonly phase: ImportPhase;
  /** Of the clients that were read, and of those that an earlier process has settled. */
  readonly counts: ImportCounts;
  /** Clients of the whole input; `null` while it is unknown. */
  readonly clientsTotal: number | null;
  /** Bytes of files that the service confirmed in this process. */
  readonly uploadedBytes: number;
  /** Estimated from the rate limit; `null` without a rate limit, and while the total is unknown. */
  readonly remainingMs: number | null;
}

/** Hands the latest value to its readers; values between are left out, so that a slow reader holds nothing up. */
export class LatestValue {
  #version = 0;
  #isOver = false;
  #changed = deferred();

  change(): void {
    this.#version += 1;
    this.#changed.resolve();
    this.#changed = deferred();
  }

  end(): void {
    this.#isOver = true;
    this.change();
  }

  /** Yields `read()` now and after changes, and a last time at the end. */
  async *values<Value>(read: () => Value): AsyncGenerator<Value, void> {
    for (let seen = -1; ; ) {
      if (seen === this.#version) await this.#changed.promise;
      seen = this.#version;
      const isLast = this.#isOver;
      yield read();
      if (isLast) return;
    }
  }
}

export interface EstimateInput {
  readonly clientsTotal: number | null;
  readonly counts: ImportCounts;
  readonly worksPerJob: number;
  readonly rateLimit: RateLimitSnapshot | undefined;
}

const callsPerJob = 3;
// Background calls leave a tenth of the limit to the others.
const backgroundPart = 0.9;

/** A call for the artifacts of each client, and those of its job, as the rate limit permits them. */
export function remainingMs({ clientsTotal, counts, worksPerJob, rateLimit }: EstimateInput): number | null {
  if (clientsTotal === null || rateLimit === undefined) return null;
  const { imported, exists, failed, undecided } = counts;
  const clients = Math.max(0, clientsTotal - imported - exists - failed - undecided);
  const calls = clients + callsPerJob * Math.ceil(clients / worksPerJob);
  const atOnce = Math.max(0, rateLimit.remaining - (1 - backgroundPart) * rateLimit.limit);
  const perMs = (backgroundPart * rateLimit.limit) / rateLimit.windowMs;
  return Math.round(Math.max(0, calls - atOnce) / perMs);
}
