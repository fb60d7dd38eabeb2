import { argv } from "node:process";
import { createClient, isWorkspaceTasksError, postgresRateLimitStore } from "@workspace-tasks/sdk";
import pg from "pg";

// One of several processes that share a rate limit: calls `me` as fast as it may, and prints how many calls succeeded and
// the codes of those that failed.

export interface RateLimitProcessInput {
  readonly apiKey: string;
  readonly baseUrl: string;
  readonly databaseUrl: string;
  readonly requests: number;
  readonly windowMs: number;
  readonly concurrency: number;
  /** How many calls it makes. */
  readonly calls: number;
}

const input = JSON.parse(argv[2] ?? "{}") as RateLimitProcessInput;
const pool = new pg.Pool({ connectionString: input.databaseUrl, max: 3 });
const { apiKey, baseUrl, requests, windowMs } = input;
const client = createClient({
  apiKey,
  baseUrl,
  rateLimit: { requests, windowMs, store: postgresRateLimitStore(pool) },
});
const failures: string[] = [];
let begun = 0;
let succeeded = 0;

async function callInTurn(): Promise<void> {
  while (begun < input.calls) {
    begun += 1;
    try {
      await client.me({ deadlineMs: 240_000 });
      succeeded += 1;
    } catch (error) {
      failures.push(isWorkspaceTasksError(error) ? error.code : String(error));
    }
  }
}

const loops = Array.from({ length: input.concurrency }, callInTurn);
await Promise.all(loops);
await client.close();
await pool.end();
process.stdout.write(`${JSON.stringify({ succeeded, failures })}\n`);
