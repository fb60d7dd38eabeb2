import * as z from "zod";
import type { MockServerErrorCode, ServiceErrorCode } from "../errors.ts";
import { methodOf, pathOf, type Route } from "./route.ts";

type Json = { readonly [name: string]: unknown };

/** The control API as an OpenAPI 3.1 document, derived from its contract. */
export function createOpenapiDocument(contract: Readonly<Record<string, Route>>): Json {
  const paths: Record<string, Record<string, Json>> = { "/stream": { get: streamOperation } };
  for (const [name, route] of Object.entries(contract)) {
    const operations = { [methodOf(route).toLowerCase()]: { operationId: name, ...operationOf(route) } };
    paths[pathOf(route)] = { ...paths[pathOf(route)], ...operations };
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Control API of the mock",
      version: "1",
      description: "Keys, time, tasks, deliveries, faults and state of a running mock. Loopback only.",
    },
    servers: [{ url: "/_mock/v1" }],
    security: [],
    paths,
    components: { schemas: { Error: schemaOf(errorSchema, "output") } },
  };
}

function operationOf(route: Route): Json {
  const { summary, status, input, response } = route;
  const hasQuery = methodOf(route) === "GET";
  const parameters = [...pathParameters(pathOf(route)), ...(input && hasQuery ? queryParameters(input) : [])];
  return {
    summary,
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(input && !hasQuery ? { requestBody: { content: jsonContent(schemaOf(input, "input")) } } : {}),
    responses: {
      [status]: response
        ? { description: "Done.", content: jsonContent(schemaOf(response, "output")) }
        : { description: "Done." },
      default: {
        description: "Rejected.",
        content: jsonContent({ $ref: "#/components/schemas/Error" }),
      },
    },
  };
}

const pathParameters = (path: string) =>
  [...path.matchAll(/\{(.+?)\}/g)].map(([, name]) => ({
    name,
    in: "path",
    required: true,
    schema: { type: "string" },
  }));

function queryParameters(query: z.ZodType) {
  const { properties = {} } = schemaOf(query, "input") as { properties?: Record<string, unknown> };
  return Object.entries(properties).map(([name, schema]) => ({ name, in: "query", required: false, schema }));
}

function schemaOf(schema: z.ZodType, io: "input" | "output"): Json {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: "any" });
  return rest;
}

const jsonContent = (schema: Json) => ({ "application/json": { schema } });

/** Codes that the control API does not respond with: of the service, of packages, of the control client. */
type OtherCode =
  | Exclude<ServiceErrorCode, "NOT_FOUND" | "CONFLICT">
  | "VERSION_MISMATCH"
  | "NETWORK_FAILED"
  | "REQUEST_TIMEOUT"
  | "RESPONSE_INVALID";

/** HTTP statuses of the codes that the control API responds with. */
export const errorStatuses: Readonly<
  Record<Exclude<MockServerErrorCode, OtherCode>, number> & Partial<Record<OtherCode, number>>
> = {
  CONFIGURATION_INVALID: 400,
  ARGUMENT_INVALID: 400,
  BODY_INVALID: 400,
  QUERY_INVALID: 400,
  FOREIGN_HOST: 403,
  FOREIGN_ORIGIN: 403,
  NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  WAIT_TIMED_OUT: 408,
  CONFLICT: 409,
  MOCK_CLOSED: 409,
  CLOCK_IS_REAL: 409,
  CLOCK_BLOCKED: 409,
  BODY_TOO_LARGE: 413,
  SNAPSHOT_INVALID: 422,
  INTERNAL: 500,
};

const errorSchema = z.object({
  error: z.object({
    code: z.enum(Object.keys(errorStatuses)),
    message: z.string(),
    issues: z.array(z.object({ path: z.string(), message: z.string() })),
  }),
});

const streamOperation = {
  summary: "Server-sent events of all activity; `stream.restarted` after a reset or with `Last-Event-ID`.",
  operationId: "getStream",
  responses: { 200: { description: "A stream without end.", content: { "text/event-stream": {} } } },
};
