import { resolveImport, type SourceFile } from "./house-rules.ts";

const runtimeImport = /^(?:import|export)\s+(?!type\b)(?:[^"';]*?\sfrom\s+)?["'](\.[^"']+)["']/gm;

/** Groups of files that import each other in a circle when they are loaded; `import type` ties nothing. */
export function importCycles(files: readonly SourceFile[]): readonly (readonly string[])[] {
  const graph = new Map(
    files.map((file) => [
      file.path,
      [...file.text.matchAll(runtimeImport)].map(([, specifier = ""]) => resolveImport(file.path, specifier)),
    ]),
  );
  return stronglyConnected(graph).filter(
    (group) => group.length > 1 || graph.get(group[0] ?? "")?.includes(group[0] ?? ""),
  );
}

/** Tarjan's algorithm. */
function stronglyConnected(graph: ReadonlyMap<string, readonly string[]>): string[][] {
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
