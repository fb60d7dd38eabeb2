// A field of a payload in two forms: as the service sends it, which the catalog publishes and the mock keeps to, and as a
// delivered event is read. A detail that is absent or of another form than the interface shows is left out when it is read,
// so that no event is lost for a field that its handlers may not even use.

import * as z from "zod";

export interface Field<Sent, Read> {
  readonly sent: z.ZodType<Sent, Sent>;
  readonly read: z.ZodType<Read>;
}

export type Fields = Readonly<Record<string, Field<unknown, unknown>>>;

type SentAs<Each> = Each extends Field<infer Sent, unknown> ? Sent : never;
type ReadAs<Each> = Each extends Field<unknown, infer Read> ? Read : never;

/** An object as the service sends it. */
export type SentOf<Of extends Fields> = {
  readonly [Name in keyof Of]: SentAs<Of[Name]>;
} & { readonly [field: string]: unknown };

/** An object as it is read: details may be absent. */
export type ReadOf<Of extends Fields> = {
  readonly [Name in keyof Of as undefined extends ReadAs<Of[Name]> ? never : Name]: ReadAs<Of[Name]>;
} & {
  readonly [Name in keyof Of as undefined extends ReadAs<Of[Name]> ? Name : never]?: ReadAs<Of[Name]>;
};

/** Decides whether the event can be used: it has the same form when it is read. */
export const envelope = <Value>(schema: z.ZodType<Value, Value>): Field<Value, Value> => ({
  sent: schema,
  read: schema,
});

/** Left out where it is absent or of another form. */
export const optional = <Sent, Read>({ sent, read }: Field<Sent, Read>): Field<Sent, Read | undefined> => ({
  sent,
  read: read.optional().catch(undefined),
});

export const detail = <Value>(schema: z.ZodType<Value, Value>) => optional(envelope(schema));

/** `null` where it is absent or of another form. */
export const nullable = <Sent, Read>(
  field: Field<Sent, Read>,
  about = "",
): Field<Sent | null, Read | null> => {
  const sent = field.sent.nullable().default(null);
  return {
    sent: (about === "" ? sent : sent.describe(about)) as unknown as z.ZodType<Sent | null, Sent | null>,
    read: field.read.nullable().default(null).catch(null),
  };
};

/** The entries that are objects; empty where it is not a list. */
export const list = <Sent, Read>(entry: Field<Sent, Read>): Field<readonly Sent[], readonly Read[]> => ({
  sent: z.array(entry.sent),
  read: z
    .array(z.unknown())
    .catch([])
    .transform((entries) =>
      entries.flatMap((each) => {
        const parsed = entry.read.safeParse(each);
        return parsed.success ? [parsed.data] : [];
      }),
    ),
});

/** A number of things; 0 where it is absent or of another form. */
export const count = (about: string): Field<number, number> => {
  const schema = z.int().nonnegative();
  return { sent: schema.describe(about), read: schema.default(0).catch(0) };
};

/** The service may add fields, so unknown ones are kept; the types do not name them. */
export const object = <Of extends Fields>(fields: Of): Field<SentOf<Of>, ReadOf<Of>> => ({
  sent: sentObject(fields),
  read: readObject(fields),
});

export const sentObject = <Of extends Fields>(fields: Of) =>
  z.looseObject(mapFields(fields, ({ sent }) => sent)) as unknown as z.ZodObject &
    z.ZodType<SentOf<Of>, SentOf<Of>>;

export const readObject = <Of extends Fields>(fields: Of) =>
  z.looseObject(mapFields(fields, ({ read }) => read)) as unknown as z.ZodObject & z.ZodType<ReadOf<Of>>;

const mapFields = (fields: Fields, pick: (field: Field<unknown, unknown>) => z.ZodType) =>
  Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, pick(field)]));
