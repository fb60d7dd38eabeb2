import { isPlainObject } from "../../plain-object.ts";
import { isLate, type KeyName, type Late, type Template } from "../plan/probe.ts";

export interface LateSources {
  /** JSON of the responses of this group, by probe. */
  readonly responses: ReadonlyMap<string, unknown>;
  readonly keys: Readonly<Partial<Record<KeyName, string>>>;
  /** Path of the objects of this run. */
  readonly mark: string;
}

/** A value that an earlier response of the service does not have, so the probe cannot be sent. */
export class UnresolvedError extends Error {}

/** A key of no form that a service issues. */
const wrongKey = "workspace-tasks-compare-wrong-key";

export function resolveTemplate(template: Template, sources: LateSources): unknown {
  if (typeof template !== "object" || template === null) return template;
  if (isLate(template)) return resolveLate(template, sources);
  if (Array.isArray(template)) return template.map((item: Template) => resolveTemplate(item, sources));
  const entries = Object.entries(template as Readonly<Record<string, Template>>);
  return Object.fromEntries(entries.map(([name, value]) => [name, resolveTemplate(value, sources)]));
}

export function resolveLate(value: Late, { responses, keys, mark }: LateSources): string {
  if (value.late === "url") return `${value.origin}${mark}${value.name}`;
  if (value.late === "key") return (value.key === "wrong" ? wrongKey : keys[value.key]) ?? wrongKey;
  const found = `data.${value.path}`
    .split(".")
    .reduce<unknown>(
      (inner, name) =>
        Array.isArray(inner) ? inner[Number(name)] : isPlainObject(inner) ? inner[name] : undefined,
      responses.get(value.probe),
    );
  if (typeof found === "string") return found;
  throw new UnresolvedError(`${value.probe} returned no ${value.path.split(".").at(-1)}`);
}

/** Every text within a value. */
export function textsOf(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap(textsOf);
}
