import type { World } from "../world/world.ts";
import { badInput } from "./service-error.ts";

export interface Slice {
  readonly offset: number;
  readonly limit: number;
}

/** `offset` and `limit` of a plain list. @throws ServiceError BAD_USER_INPUT outside the bounds */
export function checkSlice(world: World, { offset, limit }: Slice): void {
  const { listItemsMax } = world.settings.bounds;
  if (offset < 0) throw badInput("Offset must not be negative");
  if (limit < 1 || limit > listItemsMax) throw badInput(`Limit must be between 1 and ${listItemsMax}`);
}

/** @throws ServiceError BAD_USER_INPUT when a list in the input is longer than `listItemsMax` */
export function checkListLength(
  world: World,
  name: string,
  list: readonly unknown[] | null | undefined,
): void {
  const { listItemsMax } = world.settings.bounds;
  if (list && list.length > listItemsMax) throw badInput(`${name} must have at most ${listItemsMax} items`);
}
