import { createReceiver, memoryInbox, silentLogger } from "@workspace-tasks/receiver-kit";
import { type LambdaRequest, lambdaHandler } from "@workspace-tasks/receiver-kit/lambda";
import { describe, expect, it } from "vitest";
import { sampleEvent } from "../../../support/sample-event.ts";
import { secretA, secretX, signDelivery } from "../../../support/signed-delivery.ts";

type SignedHeaders = Readonly<Record<string, string>>;

const listed = (headers: SignedHeaders) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]]));

/** The fields of AWS's documented events that name the method, the path and the headers. */
const shapes: Record<string, (headers: SignedHeaders) => LambdaRequest> = {
  "API Gateway REST API, payload 1.0": (headers) => ({
    httpMethod: "POST",
    path: "/webhooks",
    headers,
    multiValueHeaders: listed(headers),
  }),
  "API Gateway HTTP API, payload 2.0": (headers) => ({
    rawPath: "/prod/webhooks",
    headers,
    requestContext: { http: { method: "POST" } },
  }),
  "function URL": (headers) => ({
    rawPath: "/webhooks",
    headers,
    requestContext: { http: { method: "POST" } },
  }),
  "load balancer": (headers) => ({ httpMethod: "POST", path: "/webhooks", headers }),
  "load balancer with lists of headers": (headers) => ({
    httpMethod: "POST",
    path: "/webhooks",
    multiValueHeaders: listed(headers),
  }),
};

function start(secret = secretA) {
  const inbox = memoryInbox();
  const receiver = createReceiver({ secrets: [secret], inbox, logger: silentLogger });
  return { receiver, handler: lambdaHandler(receiver) };
}

const body = JSON.stringify(sampleEvent({ note: "Müller & Söhne" }), null, 2);
const delivery = () => signDelivery({ body, timestampSeconds: Math.floor(Date.now() / 1000) });
const shapeOf = (name: string) => shapes[name] as (headers: SignedHeaders) => LambdaRequest;

describe("lambdaHandler", () => {
  it.each(Object.keys(shapes))("stores a delivery once in the shape of a %s", async (name) => {
    const { receiver, handler } = start();
    const signed = delivery();
    const upperCase = Object.fromEntries(
      Object.entries(signed.headers).map(([header, value]) => [header.toUpperCase(), value]),
    );
    const responses = [
      await handler({ ...shapeOf(name)(signed.headers), body, isBase64Encoded: false }),
      await handler({
        ...shapeOf(name)(upperCase),
        body: Buffer.from(body).toString("base64"),
        isBase64Encoded: true,
      }),
    ];
    for (const response of responses)
      expect(response).toMatchObject({ statusCode: 200, body: '{"received":true}' });
    expect((await receiver.stats()).ingest).toMatchObject({ accepted: 1, duplicates: 1, conflicts: 0 });
  });

  it("responds with lists of headers where the request has nothing else", async () => {
    const { receiver, handler } = start();
    await receiver.close();
    const responses = Object.keys(shapes).map(async (name) => {
      const { multiValueHeaders } = await handler({ ...shapeOf(name)(delivery().headers), body });
      return [name, multiValueHeaders?.["retry-after"]];
    });
    expect(Object.fromEntries(await Promise.all(responses))).toEqual({
      ...Object.fromEntries(Object.keys(shapes).map((name) => [name, undefined])),
      "load balancer with lists of headers": ["5"],
    });
  });

  it.each(Object.keys(shapes))("rejects what is wrong in the shape of a %s", async (name) => {
    const { receiver, handler } = start(secretX);
    const { headers } = delivery();
    const request = { ...shapeOf(name)(headers), body };
    expect((await handler(request)).statusCode).toBe(401);
    expect((await handler({ ...request, body: null })).statusCode).toBe(401);
    const large = Buffer.alloc(1_048_577).toString("base64");
    expect((await handler({ ...request, body: large, isBase64Encoded: true })).statusCode).toBe(413);
    const encoded = shapeOf(name)({ ...headers, "Content-Encoding": "gzip" });
    expect((await handler({ ...encoded, body })).statusCode).toBe(415);
    const bare = shapeOf(name)({});
    expect((await handler({ ...bare, body })).statusCode).toBe(400);
    expect((await receiver.stats()).ingest.accepted).toBe(0);
  });

  it("rejects an event that is not an HTTP request", async () => {
    const { handler } = start();
    const response = await handler({ Records: [{ body }] } as LambdaRequest);
    expect(response.statusCode).toBe(405);
  });

  it("passes the path to the function that finds the tenant", async () => {
    const paths: string[] = [];
    const byTenant = ({ path }: { path: string }) => {
      paths.push(path);
      return { id: "acme", workspaceId: "w", secrets: [secretA] };
    };
    const handler = lambdaHandler(
      createReceiver({ secrets: { byTenant }, inbox: memoryInbox(), logger: silentLogger }),
    );
    const { headers } = delivery();
    await handler({ rawPath: "/webhooks/acme", requestContext: { http: { method: "POST" } }, headers, body });
    await handler({ httpMethod: "POST", path: "/webhooks/acme", headers, body });
    expect(paths).toEqual(["/webhooks/acme", "/webhooks/acme"]);
  });
});
