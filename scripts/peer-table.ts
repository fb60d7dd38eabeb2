// The table of docs/compatibility.md: the optional peers of the packages, from their manifests.
import { markdownTable } from "./markdown-table.ts";
import { packages } from "./packages.mjs";

export const peersDocument = "docs/compatibility.md";
const begin = "<!-- peers:begin -->";
const end = "<!-- peers:end -->";

/** Optional peers, with the range of versions that a package accepts. */
export const peers: readonly { readonly name: string; readonly range: string; readonly of: string }[] =
  packages
    .flatMap(({ name: of, manifest }) =>
      Object.entries<string>(manifest.peerDependencies ?? {}).map(([name, range]) => ({ name, range, of })),
    )
    .sort((a, b) => a.name.localeCompare(b.name));

/** The document with the table between its marks replaced. */
export function withPeerTable(document: string): string {
  const rows = peers.map(({ name, range, of }) => [`\`${name}\``, `\`${range}\``, `\`${of}\``]);
  const table = markdownTable(["peer", "versions", "of"], rows);
  const before = document.slice(0, document.indexOf(begin) + begin.length);
  return `${before}\n${table}\n${document.slice(document.indexOf(end))}`;
}
