// The public types pick their fields from the schema's types, so that an editor shows the schema's own descriptions, and
// have only the fields that the documents select. The compiler keeps the two in step: a field that a document does not
// select cannot be assigned.

/** The same fields, some of them with another type. */
export type Override<Base, Overrides> = {
  [Field in keyof Base]: Field extends keyof Overrides ? Overrides[Field] : Base[Field];
};

/** The fields of a schema's type that a document selects. */
export type PickSelected<SchemaType, Selection, Overrides = unknown> = Override<
  Pick<SchemaType, keyof Selection & keyof SchemaType>,
  Overrides
>;
