// The import graph of the sources, type imports included: a type that is imported ties two files together as much as
// a function does, for neither can be read or moved without the other.
import { dirname } from "node:path/posix";

/** A source file as the rules see it: its path from the root, with forward slashes, and its text. */
export interface SourceFile {
  readonly path: string;
  readonly text: string;
}

/** Imports of each file; a package's name stays as it is. */
export type ImportGraph = ReadonlyMap<string, readonly string[]>;

const importPattern = /(?:\bfrom\s*|\bimport\s*\(\s*|^\s*import\s+)["']([^"']+)["']/gm;

/** Paths and package names that a file imports. Examples in comments do not count. */
export function importsOf(file: SourceFile): readonly string[] {
  return [...withoutComments(file.text).matchAll(importPattern)].map(([, specifier = ""]) =>
    resolveImport(file.path, specifier),
  );
}

export function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/(^|\s)\/\/.*$/gm, "");
}

/** The path from the root that a relative specifier means; a package's name as it is. */
export function resolveImport(importer: string, specifier: string): string {
  if (!specifier.startsWith(".")) return specifier;
  const parts = importer.split("/").slice(0, -1);
  for (const step of specifier.split("/")) {
    if (step === "..") parts.pop();
    else if (step !== ".") parts.push(step);
  }
  return parts.join("/");
}

export function importGraph(files: readonly SourceFile[]): ImportGraph {
  return new Map(files.map((file) => [file.path, importsOf(file)]));
}

/** The same graph between folders: what their files import of each other. */
export function folderGraph(graph: ImportGraph): ImportGraph {
  const folders = new Map<string, Set<string>>();
  for (const [path, targets] of graph) {
    const folder = dirname(path);
    const known = folders.get(folder) ?? new Set();
    folders.set(folder, known);
    for (const target of targets)
      if (graph.has(target) && dirname(target) !== folder) known.add(dirname(target));
  }
  return new Map([...folders].map(([folder, targets]) => [folder, [...targets]]));
}

/** Groups of nodes that can reach each other, each sorted; a node that imports itself is a group too. */
export function cycles(graph: ImportGraph): readonly (readonly string[])[] {
  return stronglyConnected(graph).filter(
    ([first = "", ...others]) => others.length > 0 || graph.get(first)?.includes(first),
  );
}

/** Tarjan's algorithm. */
function stronglyConnected(graph: ImportGraph): string[][] {
  const order = new Map<string, number>();
  const lowest = new Map<string, number>();
  const stack: string[] = [];
  const onStack = new Set<string>();
  const groups: string[][] = [];

  const visit = (node: string) => {
    const index = order.size;
    order.set(node, index);
    lowest.set(node, index);
    stack.push(node);
    onStack.add(node);
    for (const target of graph.get(node) ?? []) {
      if (!graph.has(target)) continue;
      if (!order.has(target)) visit(target);
      if (onStack.has(target)) lowest.set(node, Math.min(lowest.get(node) ?? 0, lowest.get(target) ?? 0));
    }
    if (lowest.get(node) !== index) return;
    const group = stack.splice(stack.indexOf(node));
    for (const member of group) onStack.delete(member);
    groups.push(group.sort());
  };
  for (const node of graph.keys()) if (!order.has(node)) visit(node);
  return groups;
}
