import { z } from "zod";
import { methodOf, type Route } from "../../mock-server/control/contract/route.ts";
import { contract } from "../../mock-server/control/contract.ts";

const routes: readonly (readonly [string, Route])[] = Object.entries(contract);

/** The document with the table of the control API replaced by the one of the contract. */
export function withControlApi(document: string): string {
  const [begin, end] = ["<!-- control-api:begin -->", "<!-- control-api:end -->"];
  const before = document.slice(0, document.indexOf(begin) + begin.length);
  const rows = routes.map(
    ([name, route]) => `| \`${route.call}\` | \`${name}\` | ${route.summary} | ${fieldsOf(route)} |\n`,
  );
  const header = "| call | method | what it does | fields |\n|---|---|---|---|\n";
  return `${before}\n${header}${rows.join("")}${document.slice(document.indexOf(end))}`;
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
