/**
 * The type with every field and array read-only, at any depth. Objects with an index signature, such as the
 * payloads of `sdk/events`, stay as they are.
 */
export type Immutable<Value> = Value extends readonly (infer Item)[]
  ? readonly Immutable<Item>[]
  : Value extends object
    ? string extends keyof Value
      ? Value
      : { readonly [Name in keyof Value]: Immutable<Value[Name]> }
    : Value;
