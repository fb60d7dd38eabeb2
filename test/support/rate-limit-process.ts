import { argv } from "node:process";
import pg from "pg";
import { createClient, isWorkspaceTasksError, postgresRateLimitStore } from "workspace-tasks/sdk";

// One of several processes that share a rate limit: calls `me` as fast as it may for `forMs`, and prints how many calls
// succeeded and the codes of those that failed.

export interface RateLimitProcessInput {
  readonly apiKey: string;
  readonly baseUrl: string;
  readonly databaseUrl: string;
  readonly requests: number;
  readonly windowMs: number;
  readonly concurrency: number;
  readonly forMs: number;
}

const input = JSON.parse(argv[2] ?? "{}") as RateLimitProcessInput;
const pool = new pg.Pool({ connectionString: input.databaseUrl, max: 3 });
const { apiKey, baseUrl, requests, windowMs } = input;
const client = createClient({
  apiKey,
  baseUrl,
  rateLimit: { requests, windowMs, store: postgresRateLimitStore(pool) },
});
const endsAtMs = performance.now() + input.forMs;
const failures: string[] = [];
let succeeded = 0;

async function callUntilTheEnd(): Promise<void> {
  while (performance.now() < endsAtMs) {
    try {
      await client.me();
      succeeded += 1;
    } catch (error) {
      const code = isWorkspaceTasksError(error) ? error.code : String(error);
      if (code !== "CLIENT_CLOSED") failures.push(code);
    }
  }
}

const loops = Array.from({ length: input.concurrency }, callUntilTheEnd);
setTimeout(() => void client.close(), input.forMs);
await Promise.all(loops);
await client.close();
await pool.end();
process.stdout.write(`${JSON.stringify({ succeeded, failures })}\n`);
