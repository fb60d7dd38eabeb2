import fc from "fast-check";
import { it } from "vitest";
import { quoteJson } from "../../../../../mock-server/graphql/documents/quote-json.ts";

it("quoteJson writes every text as JSON.stringify does", () => {
  const special = fc.constantFrom(
    '"',
    "\\",
    "\n",
    "\u0000",
    "\u007f",
    "\u2028",
    "\ud83d\ude42",
    "\ud800",
    "\udc00",
    "é",
  );
  const text = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.array(fc.oneof(fc.string(), special)).map((parts) => parts.join("")),
  );
  fc.assert(fc.property(text, (value) => quoteJson(value) === JSON.stringify(value)));
});
