interface NodeModules {
  readonly "node:crypto": typeof import("node:crypto");
  readonly "node:diagnostics_channel": typeof import("node:diagnostics_channel");
  readonly "node:events": typeof import("node:events");
  readonly "node:fs": typeof import("node:fs");
  readonly "node:fs/promises": typeof import("node:fs/promises");
  readonly "node:os": typeof import("node:os");
}

/**
 * A module of Node; `undefined` in a runtime that does not have it. Without `import` or `require`, whose names bundlers for
 * other runtimes would try to resolve.
 */
export function builtInModule<Name extends keyof NodeModules>(name: Name): NodeModules[Name] | undefined {
  const { process } = globalThis as { process?: { getBuiltinModule?(name: string): unknown } };
  try {
    return process?.getBuiltinModule?.(name) as NodeModules[Name] | undefined;
  } catch {
    // The edge runtime of Next throws for each member of `process` that it does not have.
    return undefined;
  }
}

/** A module of Node, loaded when it is needed. Throws in a runtime that does not have it. */
export function nodeModule<Name extends keyof NodeModules>(name: Name): NodeModules[Name] {
  const found = builtInModule(name);
  if (found === undefined) throw new Error(`expected a runtime with ${name}, got one without it`);
  return found;
}
