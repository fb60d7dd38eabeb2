import { GraphQLError, Kind, type SelectionSetNode, type ValidationRule } from "graphql";

/** Rejects operations whose fields nest deeper than `depthMax`, fragments followed. */
export const depthRule =
  (depthMax: number): ValidationRule =>
  (context) => {
    // Each fragment is measured once: fragments that spread others twice would otherwise cost exponential time.
    const fragments = new Map<string, number>();

    const depthOfFragment = (name: string): number => {
      const measured = fragments.get(name);
      if (measured !== undefined) return measured;
      // Zero while it is being measured: another rule rejects cycles.
      fragments.set(name, 0);
      const depth = depthOf(context.getFragment(name)?.selectionSet);
      fragments.set(name, depth);
      return depth;
    };

    const depthOf = (selectionSet: SelectionSetNode | undefined): number => {
      const depths = selectionSet?.selections.map((selection) => {
        if (selection.kind === Kind.FRAGMENT_SPREAD) return depthOfFragment(selection.name.value);
        return depthOf(selection.selectionSet) + (selection.kind === Kind.FIELD ? 1 : 0);
      });
      return Math.max(0, ...(depths ?? []));
    };

    return {
      OperationDefinition(operation) {
        if (depthOf(operation.selectionSet) <= depthMax) return;
        const message = `Query is nested deeper than ${depthMax} fields`;
        context.reportError(new GraphQLError(message, { nodes: [operation.name ?? operation] }));
      },
    };
  };
