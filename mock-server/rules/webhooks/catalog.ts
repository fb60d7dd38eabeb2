import type { KnownEventName } from "@workspace-tasks/events";
import { type CatalogEntry, eventCatalog, payloadVersion } from "@workspace-tasks/events/catalog";
import { didYouMean } from "@workspace-tasks/kernel/did-you-mean.ts";
import type { CatalogAdditionRecord } from "../../state/records.ts";
import type { World } from "../../world/world.ts";
import { badInput, conflict } from "../service-error.ts";

/** Every event the service can deliver: the interface's six, then those added at run time. */
export const listCatalog = (world: World): readonly CatalogEntry[] => [
  ...eventCatalog.map((entry) =>
    entry.taskTypes.length === 0 ? entry : { ...entry, taskTypes: world.settings.tasks.typesWithEvents },
  ),
  ...world.state.catalogAdditions.values(),
];

const knownNames: ReadonlySet<string> = new Set(eventCatalog.map(({ name }) => name));

export const isCatalogEvent = (world: World, name: string): boolean =>
  knownNames.has(name) || world.state.catalogAdditions.has(name);

/** Of the payload, as the catalog gives it. */
export const versionOf = ({ state }: World, name: string): string =>
  state.catalogAdditions.get(name)?.version ?? payloadVersion;

/** Why no delivery can have an event of this name; `undefined` for one of the catalog. */
export function describeUnknownEvent(world: World, name: string): string | undefined {
  if (isCatalogEvent(world, name)) return undefined;
  const names = listCatalog(world).map((entry) => entry.name);
  return `unknown event ${name}${didYouMean(name, names) || "; add it to the catalog first, with addCatalogEvent"}`;
}

/** The JSON Schema (Draft 7) of an event's payload; `null` for an event that the catalog does not have. */
export async function payloadSchemaOf(world: World, name: string): Promise<Record<string, unknown> | null> {
  const addition = world.state.catalogAdditions.get(name);
  if (addition) return addition.payloadSchema;
  if (!knownNames.has(name)) return null;
  const { payloadJsonSchema } = await import("@workspace-tasks/events");
  return { ...payloadJsonSchema(name as KnownEventName, world.settings.tasks.typesWithEvents) };
}

/** Default: version `2`, no description, status or task types, and a schema with the event's name alone. */
export type CatalogAddition = Pick<CatalogEntry, "name"> & {
  readonly [Field in keyof Omit<CatalogAdditionRecord, "name">]?:
    | Readonly<CatalogAdditionRecord[Field]>
    | undefined;
};

/**
 * Adds a future event to the catalog, as the service may do at any time (E6). Endpoints without `eventTypes`
 * receive it from now on.
 */
export function addToCatalog(world: World, addition: CatalogAddition): CatalogEntry {
  const { name, description = "", version = payloadVersion, status = "", taskTypes = [] } = addition;
  if (!/^[a-z0-9_-]+(\.[a-z0-9_-]+)+$/.test(name)) {
    throw badInput(`event name must look like "noun.verb", got "${name}"`);
  }
  if (isCatalogEvent(world, name)) throw conflict(`event "${name}" is already in the catalog`);
  const payloadSchema = { ...(addition.payloadSchema ?? plainPayloadSchema(name)) };
  const entry = { name, description, version, status, taskTypes: [...taskTypes], payloadSchema };
  world.state.catalogAdditions.set(name, entry);
  world.emit({ type: "catalog.added", name });
  return entry;
}

const plainPayloadSchema = (name: string) => ({
  $schema: "http://json-schema.org/draft-07/schema#",
  title: name,
  type: "object",
  properties: { event: { const: name } },
  required: ["event"],
});
