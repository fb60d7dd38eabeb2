// VitePress finds links to pages that do not exist. This finds those to headings that a built page does not have.
import { readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";

/** @param folder of the built site. @returns a line for each link that leads nowhere */
export function deadAnchors(folder: string): readonly string[] {
  const files = readdirSync(folder, { recursive: true }).map((path) => String(path).replaceAll("\\", "/"));
  const pages = new Map(
    files
      .filter((file) => file.endsWith(".html"))
      .map((file) => [file, readFileSync(join(folder, file), "utf8")]),
  );
  const anchors = new Map(Array.from(pages, ([file, html]) => [file, idsIn(html)]));
  return Array.from(pages).flatMap(([file, html]) =>
    linksIn(html)
      .filter(({ path, anchor }) => {
        const target = path ? posix.join(posix.dirname(file), path) : file;
        return anchors.get(target)?.has(anchor) === false;
      })
      .map(({ path, anchor }) => `${file}: ${path}#${anchor} has no such heading`),
  );
}

const idsIn = (html: string) => new Set(Array.from(html.matchAll(/ id="([^"]+)"/g), ([, id = ""]) => id));

const linksIn = (html: string) =>
  Array.from(html.matchAll(/ href="(?![a-z]+:)([^"#]*)#([^"]+)"/g), ([, path = "", anchor = ""]) => ({
    path: path.endsWith("/") ? `${path}index.html` : path,
    anchor: decodeURIComponent(anchor),
  }));
