// Fields that several nouns share.

import * as z from "zod";
import { barsDefault } from "../settings/settings.ts";
import { durationForms, isoTimeOrNull, parseDurationMs, waitTimeoutMs } from "../time/duration.ts";

export const time = z.iso.datetime().describe("RFC 3339, UTC, with milliseconds.");
export const id = z.string().min(1);
export const texts = z.record(z.string(), z.string());

export const duration = z
  .union([z.number(), z.string()])
  .refine((value) => parseDurationMs(value) !== undefined, `expected ${durationForms}`)
  .describe('Milliseconds, or text such as `"90s"`, `"3m"`, `"1h30m"`, `"7d"`.');

export const searchText = z
  .string()
  .trim()
  .min(1)
  .max(500)
  .describe("Text that an id, a name, a URL or a body contains, in either case.");

/** A number of a query, where it is text: decimal digits, with a sign and a fraction, which its schema rejects. */
export const inQuery = <Value extends z.ZodType>(number: Value) =>
  z.preprocess(
    (text) => (/^(?!-0$)-?\d{1,15}(?:\.\d*[1-9])?$/.test(String(text)) ? Number(text) : text),
    number,
  );

/** Part of a list, by the time of its records. */
export const timeRange = {
  from: time.optional().describe("Only those of this time or later."),
  to: time.optional().describe("Only those before this time."),
};

/** Query of every list that has pages. */
export const listQuery = {
  order: z.enum(["asc", "desc"]).optional().describe("Default: `asc`, oldest first."),
  limit: inQuery(z.int().min(1).max(1_000)).optional().describe("Default: 100."),
  iterator: z.string().optional().describe("The `iterator` of the previous page."),
};

export const pageOf = <Item extends z.ZodType>(item: Item) =>
  z.object({
    data: z.array(item),
    done: z.boolean().describe("Whether this is the last page."),
    iterator: z.string().nullable().describe("Cursor of the next page; `null` when `done`."),
  });

/** How many records a wait expects. */
export const expectedNumber = {
  count: z.int().min(1).optional().describe("At least this many. Default: 1."),
  times: z.int().min(0).optional().describe("Exactly this many; more are a failure at once."),
};

export const waitLimit = {
  timeoutMs: z.int().min(0).max(600_000).optional().describe(`In real time. Default: ${waitTimeoutMs}.`),
};

type ShownName<Name> = Name extends "atMs" ? "at" : Name extends `${infer Noun}AtMs` ? `${Noun}At` : Name;

/** A record with its times as text, each under its name without `Ms`. */
export type Shown<Record> = {
  [Name in keyof Record as ShownName<Name>]: ShownName<Name> extends Name
    ? Record[Name]
    : null extends Record[Name]
      ? string | null
      : string;
};

const isTime = (name: string) => /(?:^a|A)tMs$/.test(name);

export const shown = <Record extends object>(record: Record): Shown<Record> =>
  Object.fromEntries(
    Object.entries(record).map(([name, value]) =>
      isTime(name) ? [name.slice(0, -2), isoTimeOrNull(value)] : [name, value],
    ),
  ) as Shown<Record>;

/** The schema of a record as `shown` returns it. */
export const shownSchema = <Shape extends z.ZodRawShape>({ shape }: z.ZodObject<Shape>) =>
  z.object(
    Object.fromEntries(
      Object.entries(shape).map(([name, schema]) => {
        if (!isTime(name)) return [name, schema];
        return [name.slice(0, -2), schema instanceof z.ZodNullable ? time.nullable() : time];
      }),
    ) as {
      [Name in keyof Shape as ShownName<Name>]: ShownName<Name> extends Name
        ? Shape[Name]
        : Shape[Name] extends z.ZodNullable
          ? z.ZodNullable<typeof time>
          : typeof time;
    },
  );

/** A list without pages. */
export const listOf = <Item extends z.ZodType>(item: Item) => z.object({ data: z.array(item) });

export interface Page<Item> {
  data: Item[];
  done: boolean;
  iterator: string | null;
}

const barsMax = 200;

export const barsQuery = {
  bars: inQuery(z.int().min(1).max(barsMax)).optional().describe(`At most. Default: ${barsDefault}.`),
};

export const histogramOf = <Series extends z.ZodType<string>>(series: Series) =>
  z.object({
    from: time.describe("Start of the first bar."),
    barMs: z.int().describe("Length of each bar."),
    bars: z
      .array(z.object({ index: z.int(), counts: z.record(series, z.int()) }))
      .describe("Those that are not empty, in order; `index` 0 begins at `from`."),
  });
