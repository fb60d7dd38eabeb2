// Statements with their values as text, for messages of the simple protocol. Literals are ASCII and do not depend on
// settings of the session: no encoding and no `standard_conforming_strings` can make a value a part of the statement.

import type { SqlValue } from "../sql/sql-reads.ts";
import type { Statement } from "./postgres-statements.ts";

type Encode = (text: string) => string;

export const prepareText = ({ name, text }: Statement) => `PREPARE ${name} AS ${text}`;

export function executeText({ name }: Statement, values: readonly SqlValue[], encode: Encode): string {
  if (values.length === 0) return `EXECUTE ${name}`;
  return `EXECUTE ${name} (${values.map((value) => literal(value, encode)).join(", ")})`;
}

export function inlineText(text: string, values: readonly SqlValue[], encode: Encode): string {
  return text.replace(/\$(\d+)/g, (_, place) => literal(values[Number(place) - 1] ?? null, encode));
}

function literal(value: SqlValue, encode: Encode): string {
  if (typeof value === "string") return quoted(encode(value));
  if (value === null || typeof value === "number" || typeof value === "boolean") return String(value);
  if (value instanceof Uint8Array) {
    const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
    return `E'\\\\x${bytes.toString("hex")}'`;
  }
  return quoted(arrayText(value, encode));
}

function quoted(text: string): string {
  return /^[\w .:"{},[\]-]*$/.test(text)
    ? `'${text}'`
    : `E'${text.replace(loneSurrogate, "\ufffd").replace(special, escaped)}'`;
}

const special = /['\\]|[^\x20-\x7e]/g;

const loneSurrogate = /\p{Surrogate}/gu;

function escaped(unit: string): string {
  if (unit === "'" || unit === "\\") return unit + unit;
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** An array as PostgreSQL reads it. */
function arrayText(values: readonly (string | number | boolean | null)[], encode: Encode): string {
  const texts = values.map((value) =>
    typeof value === "string" ? `"${encode(value).replace(/["\\]/g, "\\$&")}"` : String(value),
  );
  return `{${texts.join(",")}}`;
}
