// JSON as it was written: `JSON.parse` would round long numbers, and keep only the last of two equal keys.

/** A number, string or word as its text; an object or array as its entries. */
export type JsonNode = { readonly text: string } | JsonContainer;

export interface JsonContainer {
  readonly kind: "object" | "array";
  readonly entries: readonly JsonEntry[];
}

export interface JsonEntry {
  /** With its quotes; `null` in an array. */
  readonly key: string | null;
  readonly value: JsonNode;
}

/** Deeper text is shown as it is: its indentation would be longer than the text. */
const depthMax = 100;

/** `null` for a text that is not JSON. */
export function parseJson(text: string): JsonNode | null {
  try {
    JSON.parse(text);
  } catch {
    return null; // Also for a text that is too deep for the browser's parser.
  }
  const root: JsonEntry[] = [];
  const open: JsonEntry[][] = [root];
  let key: string | null = null;
  for (const [token] of text.matchAll(/"[^"\\]*(?:\\.[^"\\]*)*"(\s*:)?|[{}[\]]|[^\s{}[\],:"]+/gs)) {
    if (token === "}" || token === "]") open.pop();
    else if (token.endsWith(":")) key = token.slice(0, token.lastIndexOf('"') + 1);
    else {
      const entries: JsonEntry[] = [];
      const isContainer = token === "{" || token === "[";
      const value: JsonNode = isContainer
        ? { kind: token === "{" ? "object" : "array", entries }
        : { text: token };
      open.at(-1)?.push({ key, value });
      key = null;
      if (isContainer) open.push(entries);
      if (open.length > depthMax) return null;
    }
  }
  return root[0]?.value ?? null;
}

const brackets = { object: ["{", "}"], array: ["[", "]"] } as const;

export const bracketsOf = ({ kind }: JsonContainer) => brackets[kind];

/** The text with one value per line. */
export function indentJson(node: JsonNode, indentation = ""): string {
  if ("text" in node) return node.text;
  const [opening, closing] = bracketsOf(node);
  if (node.entries.length === 0) return `${opening}${closing}`;
  const inner = `${indentation}  `;
  const lines = node.entries.map(
    ({ key, value }) => `${inner}${key === null ? "" : `${key}: `}${indentJson(value, inner)}`,
  );
  return `${opening}\n${lines.join(",\n")}\n${indentation}${closing}`;
}

/** How many values it holds, itself included. */
export const countValues = (node: JsonNode): number =>
  "text" in node ? 1 : node.entries.reduce((sum, { value }) => sum + countValues(value), 1);
