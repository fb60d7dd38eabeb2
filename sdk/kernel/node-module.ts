interface NodeModules {
  readonly "node:fs/promises": typeof import("node:fs/promises");
  readonly "node:os": typeof import("node:os");
}

/**
 * A module of Node, loaded when it is needed. Without `import` or `require`, whose names bundlers for other runtimes would
 * try to resolve. Throws in a runtime that does not have it.
 */
export function nodeModule<Name extends keyof NodeModules>(name: Name): NodeModules[Name] {
  const { process } = globalThis as { process?: { getBuiltinModule?(name: string): unknown } };
  const found = process?.getBuiltinModule?.(name) as NodeModules[Name] | undefined;
  if (found === undefined) throw new Error(`expected a runtime with ${name}, got one without it`);
  return found;
}
