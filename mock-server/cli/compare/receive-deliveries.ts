import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { CommandError, UsageError } from "../../../sdk/kernel/cli/command-error.ts";
import type { CommandIo } from "../../../sdk/kernel/cli/command-line.ts";
import { secretForm } from "../../checks/secret-form.ts";
import { parseCaptured } from "../../compare/observe/captured-file.ts";
import type { CapturedDelivery } from "../../compare/observe/observe-delivery.ts";
import { type Captured, type Listening, responseTo } from "../../compare/run/await-deliveries.ts";
import { readIncomingBody } from "../../read-body.ts";
import { reasonOf } from "../reason-of.ts";
import { readText } from "./compare-files.ts";
import { addressExpected, parseAddress, withoutSecrets } from "./parse-address.ts";

const secretVariable = "WORKSPACE_TASKS_SIGNING_SECRET";
const fileBytesMax = 256 * 1_048_576;

export const isUrl = (text: string): boolean => /^\w+:\/\//.test(text);

/** Reads a file of captured deliveries; its secrets come from the environment. */
export async function readCaptured(path: string, { env }: CommandIo): Promise<Captured> {
  const secrets = (env[secretVariable] ?? "").split(/[\s,]+/).filter(Boolean);
  if (secrets.length === 0 || !secrets.every((secret) => secretForm.test(secret)))
    throw new UsageError(
      `--deliveries: expected the endpoint's secrets in ${secretVariable}, the newest first`,
    );
  const text = await readText("--deliveries", path, fileBytesMax);
  try {
    return { deliveries: parseCaptured(text), secrets };
  } catch (error) {
    throw new CommandError(`--deliveries: ${path}: ${reasonOf(error)}`, 2);
  }
}

export interface Receiver extends Listening {
  close(): void;
}

const bodyBytesMax = 4 * 1_048_576;
const capturedMax = 10_000;

/** Listens on this computer, where a tunnel or proxy behind the public URL ends. Takes deliveries of this run only. */
export async function startReceiver(
  url: string,
  { port, forMs, runId }: { readonly port: number; readonly forMs: number; readonly runId: string },
): Promise<Receiver> {
  const publicUrl = parseAddress(url);
  if (publicUrl === undefined)
    throw new UsageError(
      `--deliveries: expected a file, or ${addressExpected}, got ${JSON.stringify(withoutSecrets(url))}`,
    );
  const captured: CapturedDelivery[] = [];
  const server = createServer((request, response) => {
    // A sender that closes its connection early has no response.
    receive(request, response, runId, captured).catch(() => response.destroy());
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

async function receive(
  request: IncomingMessage,
  response: ServerResponse,
  runId: string,
  captured: CapturedDelivery[],
): Promise<void> {
  const body = await readIncomingBody(request, bodyBytesMax);
  const [, name] = new RegExp(`/workspace-tasks-compare/${runId}/([a-z-]+)$`).exec(request.url ?? "") ?? [];
  if (request.method !== "POST" || name === undefined || body === null || captured.length >= capturedMax) {
    response.writeHead(404).end();
    return;
  }
  const headers = Object.fromEntries(
    Object.entries(request.headers).map(([header, value]) => [header, [value ?? ""].flat().join(", ")]),
  );
  const delivery = { receivedAtMs: Date.now(), headers, body, path: name };
  const status = responseTo(delivery, captured);
  captured.push({ ...delivery, responded: status });
  response.writeHead(status).end();
}
