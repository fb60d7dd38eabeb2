import { createReceiver } from "@workspace-tasks/receiver-kit";
import { lambdaHandler } from "@workspace-tasks/receiver-kit/lambda";
import { postgresInbox } from "@workspace-tasks/receiver-kit/postgres";
import pg from "pg";

const pool = new pg.Pool({
  connectionString: process.env["DATABASE_URL"],
  max: 2, // an instance serves one request at a time
  connectionTimeoutMillis: 5_000,
});
const receiver = createReceiver({
  secrets: [process.env["WORKSPACE_TASKS_SIGNING_SECRET"] ?? ""],
  inbox: postgresInbox(pool),
});

// Without handlers and start(): the function is frozen after its response.
export const handler = lambdaHandler(receiver);
