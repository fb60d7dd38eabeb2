import { createServer, type IncomingHttpHeaders } from "node:http";
import { buffer } from "node:stream/consumers";
import { createEffects } from "./effects.ts";
import { type RunningReceiver, serveReceiver } from "./running-receiver.ts";

export type Verify = (body: string, headers: Record<string, string>) => unknown;

/**
 * A careful receiver around the `verify` of a library, on Node's server alone: raw body, 400 when it throws, one effect
 * for each id.
 */
export function startLibraryReceiver(verify: Verify): Promise<RunningReceiver> {
  const effects = createEffects();
  const seen = new Set<string>();
  const receive = (body: Buffer, headers: IncomingHttpHeaders): number => {
    const id = String(headers["webhook-id"]);
    try {
      verify(body.toString(), headers as Record<string, string>);
    } catch {
      return 400;
    }
    if (!seen.has(id)) effects.add(id);
    seen.add(id);
    return 200;
  };
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://localhost");
    if (pathname === "/effects")
      return response.end(JSON.stringify(effects.of(searchParams.get("id") ?? "")));
    if (request.method !== "POST") return response.writeHead(405).end();
    return void buffer(request).then(
      (body) => response.writeHead(receive(body, request.headers)).end(),
      () => response.destroy(),
    );
  });
  return serveReceiver(server);
}
