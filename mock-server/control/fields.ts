import { z } from "zod";
import { parseDurationMs } from "../time/duration.ts";

// Fields that several routes share.

export const time = z.iso.datetime().describe("RFC 3339, UTC, with milliseconds.");
export const id = z.string().min(1);
export const role = z.enum(["admin", "l1", "l2", "l3"]);
export const access = z.enum(["read_only", "read_write"]);
export const taskStatus = z.enum(["RUNNING", "COMPLETED", "FAILED"]);
export const deliveryStatus = z.enum(["pending", "paused", "succeeded", "failed", "cancelled"]);

export const duration = z
  .union([z.number(), z.string()])
  .refine(
    (value) => parseDurationMs(value) !== undefined,
    'expected milliseconds or text such as "3m" or "1h30m"',
  )
  .describe('Milliseconds, or text such as `"90s"`, `"3m"`, `"1h30m"`, `"7d"`.');

/** Query parameters of a list; they arrive as text. */
export const listQuery = {
  limit: z.coerce.number().int().min(1).max(1_000).default(100),
  iterator: z.string().optional().describe("Cursor of the previous page."),
};

export const pageOf = <Item extends z.ZodType>(item: Item) =>
  z.object({
    data: z.array(item),
    done: z.boolean(),
    iterator: z.string().nullable().describe("Cursor for the next page; `null` when `done`."),
  });
