/*
 * Data of a response, reduced by the document and the contract. What stays of a value:
 *
 *   null, true, false    themselves
 *   numbers              `int`, `float`
 *   enum values          `enum:admin`; of an open set of the service's words (`wordFields`) `word:pending`
 *   times                `date:+1200`, milliseconds from the start of the run; in another format `date-other:+1200`
 *   ids                  `id:uuid7#3`: the form, and a number by which equal ids are equal
 *   tokens               `token:jwt:180:exp,workspaceId`: lifetime in seconds, claims that rules read
 *   other text           `sent` when it was part of the request, else `empty`, `url:https`, `secret:whsec#1`, `text`
 *   JSON                 `json:object`; a schema of an event becomes its properties, see `summarize-schema.ts`
 *
 * A list has its items, an object its selected fields; a field that was not selected is counted as `unexpected`.
 */

import { jsonOrUndefined } from "@workspace-tasks/kernel/json.ts";
import { isPlainObject } from "@workspace-tasks/kernel/plain-object.ts";
import { collectFields, type Router, routerSchema } from "@workspace-tasks/mock-server/parts";
import * as graphql from "graphql";
import { isWord, wordFields } from "./contract-words.ts";
import type { Shape } from "./observation.ts";
import { summarizeSchema } from "./summarize-schema.ts";

/** Numbers ids in the order of their appearance, and counts time from the start of a run. */
export interface Pseudonyms {
  readonly startedAtMs: number;
  numberOf(id: string): number;
}

export function createPseudonyms(startedAtMs: number): Pseudonyms {
  const numbers = new Map<string, number>();
  return {
    startedAtMs,
    numberOf(id) {
      const number = numbers.get(id) ?? numbers.size + 1;
      numbers.set(id, number);
      return number;
    },
  };
}

export interface RedactionContext {
  readonly router: Router;
  readonly document: graphql.DocumentNode | null;
  readonly pseudonyms: Pseudonyms;
  /** Texts of the request: a value that repeats one of them tells nothing new. */
  readonly sent: ReadonlySet<string>;
  readonly nowMs: number;
}

export function redactData(data: unknown, context: RedactionContext): Shape {
  const root = rootOf(context.document, context.router);
  return root ? redactObject(data, root.type, root.selections, context) : kindOf(data);
}

/** A field of a selection with the selections below it, merged over fragments. */
export interface SelectedField {
  readonly coordinate: string;
  /** `null` when the contract has no such field. */
  readonly type: graphql.GraphQLOutputType | null;
  readonly below: readonly graphql.SelectionSetNode[];
}

export function selectedFields(
  document: graphql.DocumentNode,
  type: graphql.GraphQLObjectType,
  selections: readonly graphql.SelectionSetNode[],
): ReadonlyMap<string, SelectedField> {
  const collected = collectFields(document, selections, (condition) => condition === type.name);
  const fields = [...collected].map(([key, nodes]): [string, SelectedField] => {
    const name = nodes[0]?.name.value ?? "";
    const below = nodes.flatMap(({ selectionSet }) => selectionSet ?? []);
    return [key, { coordinate: `${type.name}.${name}`, type: type.getFields()[name]?.type ?? null, below }];
  });
  return new Map(fields);
}

/** The operation of a document, with the type that its router has for it; `null` when there is none. */
export function rootOf(document: graphql.DocumentNode | null, router: Router) {
  const operation = document?.definitions.find(({ kind }) => kind === graphql.Kind.OPERATION_DEFINITION);
  if (operation?.kind !== graphql.Kind.OPERATION_DEFINITION) return null;
  const type = routerSchema(router).getRootType(operation.operation);
  return type ? { type, selections: [operation.selectionSet] } : null;
}

function redactObject(
  value: unknown,
  type: graphql.GraphQLObjectType,
  selections: readonly graphql.SelectionSetNode[],
  context: RedactionContext,
): Shape {
  if (!isPlainObject(value) || !context.document) return kindOf(value);
  const fields = selectedFields(context.document, type, selections);
  const entries = [...fields].flatMap(([key, field]): [string, Shape][] => {
    if (!Object.hasOwn(value, key)) return [];
    if (field.coordinate.endsWith(".__typename")) return [[key, typeNameTag(value[key])]];
    return [[key, redactField(value[key], field, context)]];
  });
  const unexpected = Object.keys(value).filter((key) => !fields.has(key)).length;
  return Object.fromEntries([...entries, ...(unexpected > 0 ? [["unexpected", "int"] as const] : [])]);
}

const typeNameTag = (value: unknown): Shape =>
  typeof value === "string" && isWord(value) ? `enum:${value}` : kindOf(value);

function redactField(value: unknown, field: SelectedField, context: RedactionContext): Shape {
  if (value === null || value === undefined) return null;
  if (Array.isArray(value)) return value.map((item) => redactField(item, field, context));
  const type = field.type && graphql.getNamedType(field.type);
  if (graphql.isObjectType(type)) return redactObject(value, type, field.below, context);
  if (graphql.isUnionType(type)) {
    const name = isPlainObject(value) ? value["__typename"] : undefined;
    const member = type.getTypes().find((each) => each.name === name);
    if (member) return redactObject(value, member, field.below, context);
    return isPlainObject(value) ? { __typename: typeNameTag(name ?? null) } : kindOf(value);
  }
  if (field.coordinate === "WebhookEventType.payloadSchema") return summarizeSchema(value);
  if (type?.name === "JSON") return `json:${jsonKindOf(value)}`;
  if (typeof value !== "string") return kindOf(value);
  if (graphql.isEnumType(type)) return isWord(value) ? `enum:${value}` : "text";
  if (wordFields.has(field.coordinate)) return wordTag(value);
  return textTag(value, field.coordinate, context);
}

const wordTag = (value: string): string => {
  if (value === "") return "empty";
  return isWord(value) || /^\d{1,3}(\.\d{1,3}){0,2}$/.test(value) ? `word:${value}` : "text";
};

/** The tag of text in a payload, which has no type of the contract. */
export function plainTextTag(text: string, name: string, pseudonyms: Pseudonyms): string {
  if (text === "") return "empty";
  if (uuid.test(text)) return idTag(text, pseudonyms);
  return (/At$/.test(name) ? dateTag(text, pseudonyms.startedAtMs) : null) ?? "text";
}

function textTag(text: string, coordinate: string, { pseudonyms, sent, nowMs }: RedactionContext): string {
  if (text === "") return "empty";
  if (/Token$/.test(coordinate)) return tokenTag(text, nowMs);
  if (sent.has(text)) return /(^|\.)id$/i.test(coordinate) ? idTag(text, pseudonyms) : "sent";
  if (text.startsWith("whsec_")) return `secret:whsec#${pseudonyms.numberOf(text)}`;
  const time = dateTag(text, pseudonyms.startedAtMs);
  if (time !== null) return time;
  if (/\.(id|(?!externalId)\w+Id)$/.test(coordinate)) return idTag(text, pseudonyms);
  if (coordinate.endsWith(".iterator")) return `cursor#${pseudonyms.numberOf(text)}`;
  if (/^https?:\/\//i.test(text))
    return `url:${text.slice(0, 5).toLowerCase() === "https" ? "https" : "http"}`;
  return "text";
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-([0-9a-f])[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

function idTag(text: string, pseudonyms: Pseudonyms): string {
  const version = uuid.exec(text)?.[1];
  return `id:${version === undefined ? "other" : `uuid${version}`}#${pseudonyms.numberOf(text)}`;
}

function dateTag(text: string, startedAtMs: number): string | null {
  if (!/^\d{4}-\d{2}-\d{2}/.test(text) || Number.isNaN(Date.parse(text))) return null;
  const isRfc3339Utc = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/.test(text);
  const offset = Date.parse(text) - startedAtMs;
  return `${isRfc3339Utc ? "date" : "date-other"}:${offset < 0 ? "" : "+"}${offset}`;
}

/** Claims that a rule reads; the names of others are not kept. */
const claimsKept = ["exp", "iat", "workspaceId"];

function tokenTag(token: string, nowMs: number): string {
  const claims = claimsOf(token);
  if (!claims) return "token:opaque";
  const { exp, iat } = claims;
  const start = typeof iat === "number" ? iat : Math.round(nowMs / 1_000);
  const lifetime = typeof exp === "number" ? String(Math.round(exp - start)) : "unknown";
  return `token:jwt:${lifetime}:${claimsKept.filter((name) => Object.hasOwn(claims, name)).join(",")}`;
}

/** The payload of a JWT, unverified; `null` for a token of another kind. */
export function claimsOf(token: string): Readonly<Record<string, unknown>> | null {
  const payload = token.split(".")[1];
  if (payload === undefined || token.length > 8_192) return null;
  const claims = jsonOrUndefined(Buffer.from(payload, "base64url").toString("utf8"));
  return isPlainObject(claims) ? claims : null;
}

/** The kind of a value, and nothing of the value itself. */
function kindOf(value: unknown): Shape {
  if (value === null || value === undefined || typeof value === "boolean") return value ?? null;
  if (typeof value === "number") return Number.isInteger(value) ? "int" : "float";
  return Array.isArray(value) ? "list" : typeof value === "object" ? "object" : "text";
}

const jsonKindOf = (value: unknown) => (Array.isArray(value) ? "list" : typeof value);
