import { z } from "zod";
import { controlErrorStatuses } from "./control-error.ts";
import type { Route } from "./route.ts";

type Json = { readonly [name: string]: unknown };

/** The control API as an OpenAPI 3.1 document, made from the routes themselves. */
export function createOpenapiDocument(routes: readonly Route[]): Json {
  const paths: Record<string, Record<string, Json>> = {
    "/stream": { get: streamOperation },
  };
  for (const route of routes) {
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: describe(route) };
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Control API of the mock",
      version: "1",
      description: "Keys, time, tasks, deliveries, faults and state of a running mock. Loopback only.",
    },
    servers: [{ url: "/_mock/v1" }],
    paths,
    components: { schemas: { Error: errorSchema } },
  };
}

function describe(route: Route): Json {
  const parameters = [...pathParameters(route.path), ...queryParameters(route.query)];
  return {
    summary: route.summary,
    operationId: operationId(route),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(route.body ? { requestBody: { content: jsonContent(schemaOf(route.body, "input")) } } : {}),
    responses: {
      [route.status]: route.answer
        ? { description: "Done.", content: jsonContent(schemaOf(route.answer, "output")) }
        : { description: "Done." },
      default: {
        description: "Refused.",
        content: jsonContent({ $ref: "#/components/schemas/Error" }),
      },
    },
  };
}

/** `POST /tasks/{id}/status` becomes `postTasksStatus`. */
function operationId({ method, path }: Route): string {
  const words = path.split("/").filter((segment) => segment !== "" && !segment.startsWith("{"));
  const name = words.flatMap((word) => word.split("-")).map((word) => word[0]?.toUpperCase() + word.slice(1));
  const one = path.endsWith("}") ? "One" : "";
  return `${method.toLowerCase()}${name.join("")}${one}`;
}

const pathParameters = (path: string) =>
  [...path.matchAll(/\{(.+?)\}/g)].map(([, name]) => ({
    name,
    in: "path",
    required: true,
    schema: { type: "string" },
  }));

function queryParameters(query: z.ZodType | undefined) {
  if (!query) return [];
  const { properties = {}, required = [] } = schemaOf(query, "input") as {
    properties?: Record<string, unknown>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: "query",
    required: required.includes(name),
    schema,
  }));
}

function schemaOf(schema: z.ZodType, io: "input" | "output"): Json {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: "any" });
  return rest;
}

const jsonContent = (schema: Json) => ({ "application/json": { schema } });

const errorSchema = {
  type: "object",
  required: ["error"],
  properties: {
    error: {
      type: "object",
      required: ["code", "message", "issues"],
      properties: {
        code: { type: "string", enum: Object.keys(controlErrorStatuses) },
        message: { type: "string" },
        issues: {
          type: "array",
          items: {
            type: "object",
            required: ["path", "message"],
            properties: { path: { type: "string" }, message: { type: "string" } },
          },
        },
      },
    },
  },
};

const streamOperation = {
  summary: "Everything that happens, as server-sent events; resumable by `Last-Event-ID`.",
  operationId: "getStream",
  responses: { 200: { description: "A stream without end.", content: { "text/event-stream": {} } } },
};
