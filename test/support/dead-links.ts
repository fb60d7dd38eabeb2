import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join, normalize } from "node:path";

const withoutCode = (text: string) => text.replace(/```[\s\S]*?```/g, "").replace(/`[^`\n]*`/g, "");
/** The anchor of a heading on code hosts, and on the site. */
export const anchorOf = (heading: string) =>
  heading
    .trim()
    .toLowerCase()
    .replace(/`/g, "")
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .replace(/\s/g, "-");

const linkForms = [
  // [text](target "title"), also of a picture
  /\]\(\s*<?([^)\s>]+)>?(?:\s+["'(][^)]*)?\)/g,
  // [name]: target
  /^ {0,3}\[[^\]]+\]:\s+<?([^\s>]+)/gm,
  /<(?:a|img|source|video)\b[^>]*?\s(?:href|src|poster)\s*=\s*["']?([^"'\s>]+)/gi,
];
const targetsIn = (text: string) =>
  linkForms.flatMap((form) => [...text.matchAll(form)].map(([, target = ""]) => target));

/** The relative links of the documents at `root`, pictures included, that lead to no file or no heading. */
export function deadLinks(root: string, documents: readonly string[]): readonly string[] {
  const anchors = new Map<string, ReadonlySet<string>>();
  const anchorsOf = (file: string): ReadonlySet<string> => {
    const known = anchors.get(file) ?? anchorsIn(readFileSync(file, "utf8"));
    anchors.set(file, known);
    return known;
  };
  return documents.flatMap((document) => {
    const text = withoutCode(readFileSync(join(root, document), "utf8"));
    return targetsIn(text).flatMap((target) => {
      if (/^[a-z]+:/.test(target)) return [];
      const [path, anchor] = target.split("#");
      const absolute = path ? normalize(join(root, dirname(document), path)) : join(root, document);
      if (!existsSync(absolute)) return [`${document}: ${target} does not exist`];
      if (anchor && statSync(absolute).isFile() && !anchorsOf(absolute).has(anchor))
        return [`${document}: ${target} has no such heading`];
      return [];
    });
  });
}

/** A heading that occurs again has a number. */
function anchorsIn(text: string): ReadonlySet<string> {
  const headings = text.matchAll(/^#{1,6}\s+(.+)$/gm);
  const names = Array.from(headings, ([, heading = ""]) => anchorOf(heading));
  return new Set(
    names.map((name, index) => {
      const earlier = names.slice(0, index).filter((each) => each === name).length;
      return earlier === 0 ? name : `${name}-${earlier}`;
    }),
  );
}
