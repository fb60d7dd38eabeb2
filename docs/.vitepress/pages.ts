// Which files of the repository are pages of the site, and what their links lead to there.
import { existsSync } from "node:fs";
import { join, posix } from "node:path";
import { packages, root } from "../../scripts/packages.ts";

/** Made for the site by `npm run site`: tables that other pages include, and the API reference. */
export const referenceFolder = "docs/reference";

const addresses: Readonly<Record<string, string>> = {
  "README.md": "index.md",
  "docs/README.md": "documentation.md",
  "ARCHITECTURE.md": "maintainers/architecture.md",
  "CHANGELOG.md": "changes.md",
  "CONTRIBUTING.md": "maintainers/contributing.md",
  "SECURITY.md": "security.md",
  ...Object.fromEntries(
    packages.map(({ folder, name }) => [
      `${folder}/README.md`,
      `packages/${name.replace("@workspace-tasks/", "")}.md`,
    ]),
  ),
};

/** The page of a file, or undefined. @param source path from the root of the repository, as all paths here */
export function pageOf(source: string): string | undefined {
  if (addresses[source]) return addresses[source];
  if (posix.dirname(source) === referenceFolder) return undefined;
  return source.startsWith("docs/") && source.endsWith(".md") ? source.slice("docs/".length) : undefined;
}

/**
 * Where a link of a file leads on the site: to a page, to the repository where a release has named it, or nowhere.
 *
 * @throws for a file that does not exist
 */
export function siteLink(source: string, href: string, repository?: string): string | undefined {
  if (/^(?:[a-z]+:|#)/i.test(href)) return href;
  const [path = "", anchor] = href.split("#");
  const target = posix.join(posix.dirname(source), decodeURI(path)).replace(/\/$/, "");
  if (!existsSync(join(root, target))) throw new Error(`${source}: the link ${href} leads to no file`);
  const page = pageOf(target);
  const address = page ? `/${page}` : repository && `${repository}/blob/main/${target}`;
  return address && (anchor ? `${address}#${anchor}` : address);
}
