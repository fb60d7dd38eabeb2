import type { KnownEventName } from "../../../sdk/events/index.ts";
import type { World } from "../../world/world.ts";
import { ServiceError } from "../service-error.ts";

// The entries stand here a second time, beside `sdk/events`, because that folder builds zod schemas when
// it is loaded and the mock must answer its first request before it needs any. A test holds them equal.

const taskTypes = ["BINDER", "TAX_PREP", "TAX_REVIEW", "TAX_ADVISOR", "TAX_PREP_LITE"];

const known: Record<KnownEventName, { readonly status: string; readonly description: string }> = {
  "task.running": { status: "RUNNING", description: "A task started to run." },
  "task.completed": { status: "COMPLETED", description: "A task finished successfully." },
  "task.failed": { status: "FAILED", description: "A task failed." },
  "subtask.completed": { status: "COMPLETED", description: "A stage of a task finished successfully." },
  "subtask.failed": { status: "FAILED", description: "A stage of a task failed." },
  "documents.synced": { status: "", description: "Documents were pulled from a connected system." },
};

/** An event of the catalog, without its schema. @see interface §2, WebhookEventType */
export type CatalogItem = {
  readonly name: string;
  readonly description: string;
  readonly version: string;
  /** Empty for an event that is not about a task. */
  readonly status: string;
  readonly taskTypes: readonly string[];
};

/** Every event the service can deliver: the interface's six, then those added at run time. */
export function listCatalog(world: World): readonly CatalogItem[] {
  const listed = Object.entries(known).map(([name, { status, description }]) => ({
    name,
    description,
    version: "2",
    status,
    taskTypes: status === "" ? [] : taskTypes,
  }));
  return [...listed, ...world.state.catalogAdditions.values()];
}

export function isCatalogEvent(world: World, name: string): boolean {
  return Object.hasOwn(known, name) || world.state.catalogAdditions.has(name);
}

/** The JSON Schema (Draft 7) of an event's payload; `null` for an event the catalog does not have. */
export async function payloadSchemaOf(world: World, name: string): Promise<Record<string, unknown> | null> {
  const addition = world.state.catalogAdditions.get(name);
  if (addition) return addition.payloadSchema;
  if (!Object.hasOwn(known, name)) return null;
  const { payloadJsonSchema } = await import("../../../sdk/events/index.ts");
  return { ...payloadJsonSchema(name as KnownEventName) };
}

export type CatalogAddition = {
  readonly name: string;
  readonly description?: string | undefined;
  /** Default: `2`. */
  readonly version?: string | undefined;
  readonly status?: string | undefined;
  readonly taskTypes?: readonly string[] | undefined;
  /** JSON Schema Draft 7. Default: an object with an `event` of this name. */
  readonly payloadSchema?: Readonly<Record<string, unknown>> | undefined;
};

/**
 * Adds an event of the future to the catalog, as the service may do at any time (E6). Endpoints without
 * `eventTypes` receive it from now on.
 */
export function addToCatalog(world: World, addition: CatalogAddition): CatalogItem {
  const { name } = addition;
  if (!/^[a-z0-9_-]+(\.[a-z0-9_-]+)+$/.test(name)) {
    throw new ServiceError("BAD_USER_INPUT", `event name must look like "noun.verb", got "${name}"`);
  }
  if (isCatalogEvent(world, name)) {
    throw new ServiceError("CONFLICT", `event "${name}" is already in the catalog`);
  }
  const item = {
    name,
    description: addition.description ?? "",
    version: addition.version ?? "2",
    status: addition.status ?? "",
    taskTypes: [...(addition.taskTypes ?? [])],
    payloadSchema: { ...(addition.payloadSchema ?? plainPayloadSchema(name)) },
  };
  world.state.catalogAdditions.set(name, item);
  world.emit({ type: "catalog.added", name });
  return item;
}

const plainPayloadSchema = (name: string) => ({
  $schema: "http://json-schema.org/draft-07/schema#",
  title: name,
  type: "object",
  properties: { event: { const: name } },
  required: ["event"],
});
