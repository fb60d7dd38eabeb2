import {
  GraphQLError,
  Kind,
  type SelectionSetNode,
  type ValidationContext,
  type ValidationRule,
} from "graphql";

/** Rejects operations whose fields nest deeper than `depthMax`, fragments followed. */
export function depthRule(depthMax: number): ValidationRule {
  return (context) => {
    const depthOf = createDepthGauge(context);
    return {
      OperationDefinition(operation) {
        if (depthOf(operation.selectionSet) <= depthMax) return;
        const message = `Query is nested deeper than ${depthMax} fields`;
        context.reportError(new GraphQLError(message, { nodes: [operation.name ?? operation] }));
      },
    };
  };
}

/** Measures each fragment once: fragments that spread others twice would otherwise cost exponential time. */
function createDepthGauge(context: ValidationContext): (selectionSet: SelectionSetNode) => number {
  const fragments = new Map<string, number>();

  const ofFragment = (name: string): number => {
    const measured = fragments.get(name);
    if (measured !== undefined) return measured;
    // Zero while it is being measured: another rule rejects cycles.
    fragments.set(name, 0);
    const fragment = context.getFragment(name);
    const depth = fragment ? depthOf(fragment.selectionSet) : 0;
    fragments.set(name, depth);
    return depth;
  };

  const depthOf = (selectionSet: SelectionSetNode): number => {
    let deepest = 0;
    for (const selection of selectionSet.selections) {
      const depth =
        selection.kind === Kind.FRAGMENT_SPREAD
          ? ofFragment(selection.name.value)
          : (selection.selectionSet ? depthOf(selection.selectionSet) : 0) +
            (selection.kind === Kind.FIELD ? 1 : 0);
      deepest = Math.max(deepest, depth);
    }
    return deepest;
  };

  return depthOf;
}
