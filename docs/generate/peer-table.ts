// The table of docs/compatibility.md: the optional peers of the packages, from their manifests.
import { peers } from "../../scripts/packages.ts";
import { markdownTable } from "../../test/support/markdown-table.ts";

export const peersDocument = "docs/compatibility.md";
const begin = "<!-- peers:begin -->";
const end = "<!-- peers:end -->";

/** The document with the table between its marks replaced. */
export function withPeerTable(document: string): string {
  const rows = peers.map(({ name, range, of }) => [`\`${name}\``, `\`${range}\``, `\`${of}\``]);
  const table = markdownTable(["peer", "versions", "of"], rows);
  const before = document.slice(0, document.indexOf(begin) + begin.length);
  return `${before}\n${table}\n${document.slice(document.indexOf(end))}`;
}
