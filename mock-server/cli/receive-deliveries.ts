import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { CommandError, UsageError } from "../../cli/command-error.ts";
import type { CommandIo } from "../../cli/command-line.ts";
import { parseCaptured } from "../compare/observe/captured-file.ts";
import type { CapturedDelivery } from "../compare/observe/observe-delivery.ts";
import type { Captured, Listening } from "../compare/run/await-deliveries.ts";
import { readIncomingBody } from "../read-body.ts";

const secretVariable = "WORKSPACE_TASKS_SIGNING_SECRET";

export const isUrl = (text: string): boolean => /^https?:\/\//i.test(text);

/** Reads a file of captured deliveries; its secrets come from the environment. */
export async function readCaptured(path: string, { env }: CommandIo): Promise<Captured> {
  const secrets = (env[secretVariable] ?? "").split(/[\s,]+/).filter(Boolean);
  if (secrets.length === 0 || !secrets.every((secret) => /^whsec_[A-Za-z0-9+/]+=*$/.test(secret)))
    throw new UsageError(
      `--deliveries: expected the endpoint's secrets in ${secretVariable}, the newest first`,
    );
  try {
    return { deliveries: parseCaptured(await readFile(path, "utf8")), secrets };
  } catch (error) {
    throw new CommandError(`--deliveries: ${path}: ${error instanceof Error ? error.message : ""}`, 2);
  }
}

export interface Receiver extends Listening {
  close(): void;
}

/** Attempts of the first delivery that get a 503, so that retries can be seen. */
const rejectedMax = 2;
const bodyBytesMax = 4 * 1_048_576;

/** Listens on this computer, where a tunnel or proxy behind the public URL ends. */
export async function startReceiver(publicUrl: string, port: number, forMs: number): Promise<Receiver> {
  const captured: CapturedDelivery[] = [];
  let rejected = 0;
  const server = createServer(async (request, response) => {
    const body = await readIncomingBody(request, bodyBytesMax);
    const isDelivery = request.method === "POST" && (request.url ?? "").includes("/workspace-tasks-compare/");
    if (!isDelivery || body === null) {
      response.writeHead(404).end();
      return;
    }
    const headers = Object.fromEntries(
      Object.entries(request.headers).map(([name, value]) => [name, [value ?? ""].flat().join(", ")]),
    );
    const first = captured[0]?.headers["webhook-id"] ?? headers["webhook-id"];
    const isRejected = headers["webhook-id"] === first && rejected < rejectedMax;
    if (isRejected) rejected += 1;
    const status = isRejected ? 503 : 204;
    captured.push({ receivedAtMs: Date.now(), headers, body, responded: status });
    response.writeHead(status).end();
  });
  server.listen(port, "127.0.0.1");
  try {
    await once(server, "listening");
  } catch {
    throw new CommandError(`--deliveries-port: ${port} is in use or reserved; choose another one`, 2);
  }
  return {
    publicUrl,
    forMs,
    captured: () => captured,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
