// Documents and doc comments show regions of the examples, as they are.
import { regionOf } from "../../test/support/documents.ts";

/** The source with the code of each `@example examples/name.ts#region` as that region is now. */
export function withExamples(source: string): string {
  return source.replace(
    /^( *)\* @example (examples\/\S+#\S+)\n *\* ```ts\n[\s\S]*?^ *\* ```$/gm,
    (_, indent: string, reference: string) => {
      const lines = ["```ts", ...regionOf(reference).trimEnd().split("\n"), "```"];
      const code = lines.map((line) => `${indent}* ${line}`.trimEnd()).join("\n");
      return `${indent}* @example ${reference}\n${code}`;
    },
  );
}

/** The document with each block of a region replaced by the region. */
export function withRegions(document: string): string {
  return document.replace(
    /(^<!-- (examples\/.*) -->\n```\w*\n)[\s\S]*?(^```$)/gm,
    (_, opening: string, reference: string, closing: string) => opening + regionOf(reference) + closing,
  );
}
