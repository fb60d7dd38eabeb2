import type { World } from "../../world/world.ts";
import { checkListLength } from "../list-bounds.ts";
import { badInput } from "../service-error.ts";
import { isCatalogEvent } from "./catalog.ts";

/** The subscription to store: without duplicates, in order of first appearance; `null` is all. */
export function checkEventTypes(world: World, eventTypes: readonly string[] | null): string[] | null {
  if (eventTypes === null) return null;
  if (eventTypes.length === 0) throw badInput("At least one webhook event type is required");
  checkListLength(world, "eventTypes", eventTypes);
  if (!eventTypes.every((name) => isCatalogEvent(world, name))) {
    throw badInput("Unsupported webhook event type");
  }
  return [...new Set(eventTypes)];
}
