// An example payload, read from a JSON Schema (Draft 7). It is what a person starts from, so every field is there; a field
// that may be `null` is.

type Json = Readonly<Record<string, unknown>>;

/** Fields that the mock adds to every event. */
const envelope = new Set(["id", "event", "version", "occurredAt", "workspaceId"]);

/** @param now for the fields that are times */
export function samplePayload(schema: Json, now: string): Record<string, unknown> {
  const sample = sampleOf("", schema, now) as Record<string, unknown> | null;
  return Object.fromEntries(Object.entries(sample ?? {}).filter(([name]) => !envelope.has(name)));
}

function sampleOf(name: string, schema: Json, now: string): unknown {
  if ("const" in schema) return schema["const"];
  if (Array.isArray(schema["enum"])) return schema["enum"][0];
  const choices = [schema["anyOf"], schema["oneOf"], schema["allOf"]].find(Array.isArray) as
    | Json[]
    | undefined;
  if (choices) {
    if (choices.some(({ type }) => type === "null")) return null;
    return sampleOf(name, choices[0] ?? {}, now);
  }
  const types = [schema["type"]].flat();
  if (types.includes("null")) return null;
  switch (types[0]) {
    case "array":
      return [sampleOf(name, (schema["items"] ?? {}) as Json, now)];
    case "integer":
    case "number":
      return 1;
    case "boolean":
      return true;
    case "string":
      return schema["format"] === "date-time" ? now : sampleText(name);
    default:
      return "properties" in schema ? sampleObject(schema["properties"] as Json, now) : null;
  }
}

const sampleObject = (properties: Json, now: string) =>
  Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [name, sampleOf(name, schema as Json, now)]),
  );

const texts: Readonly<Record<string, string>> = {
  taskType: "TAX_PREP",
  errorMessage: "the W-2 cannot be read",
  fileName: "w2.pdf",
  mimeType: "application/pdf",
};

const sampleText = (name: string): string =>
  texts[name] ?? (/Id$/.test(name) ? "00000000-0000-4000-8000-000000000001" : "text");
