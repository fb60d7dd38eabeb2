// The public types pick their fields from the schema's types, so that an editor shows the schema's own
// descriptions, and take as much of them as the documents select. The compiler holds the two together: what
// a document does not select cannot be assigned.

/** The same fields, some of them with another type. */
export type Override<Base, Changes> = {
  [Field in keyof Base]: Field extends keyof Changes ? Changes[Field] : Base[Field];
};

/** The fields of a schema's type that a document selects. */
export type PickSelected<SchemaType, Selection, Changes = unknown> = Override<
  Pick<SchemaType, keyof Selection & keyof SchemaType>,
  Changes
>;
