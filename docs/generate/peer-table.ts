import { peers } from "../../scripts/packages.ts";
import { markdownTable } from "../../test/support/documents.ts";

/** The optional peers of the packages, from their manifests. */
export function peerTable(): string {
  const rows = peers.map(({ name, range, of }) => [`\`${name}\``, `\`${range}\``, `\`${of}\``]);
  return markdownTable(["peer", "versions", "of"], rows);
}
