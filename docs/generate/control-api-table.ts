import { z } from "zod";
import { contract } from "../../mock-server/control/contract.ts";
import { methodOf, type Route } from "../../mock-server/control/route.ts";
import { markdownTable } from "../../test/support/documents.ts";

const routes: readonly (readonly [string, Route])[] = Object.entries(contract);

/** Every call of the control API, from its contract. */
export function controlApiTable(): string {
  const rows = routes.map(([name, route]) => [
    `\`${route.call}\``,
    `\`${name}\``,
    route.summary,
    fieldsOf(route),
  ]);
  return markdownTable(["call", "method", "what it does", "fields"], rows);
}

/** Fields of the body, or of the query. */
function fieldsOf(route: Route): string {
  const { properties = {} } = route.input
    ? z.toJSONSchema(route.input, { io: "input", unrepresentable: "any" })
    : {};
  const mark = methodOf(route) === "GET" ? "?" : "";
  return Object.keys(properties)
    .map((name) => `\`${mark}${name}\``)
    .join(" ");
}
