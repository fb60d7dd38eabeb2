import { type DocumentNode, type FieldNode, Kind, type SelectionSetNode } from "graphql";

/**
 * Fields by their names in the response, each fragment followed once, as the specification collects them.
 * @param applies whether a fragment on this type applies; default: it does
 */
export function collectFields(
  { definitions }: DocumentNode,
  selectionSets: readonly SelectionSetNode[],
  applies: (condition: string) => boolean = () => true,
): ReadonlyMap<string, readonly FieldNode[]> {
  const fragments = definitions.filter((each) => each.kind === Kind.FRAGMENT_DEFINITION);
  const fields = new Map<string, FieldNode[]>();
  const followed = new Set<SelectionSetNode>();
  const collect = (selectionSet: SelectionSetNode): void => {
    if (followed.has(selectionSet)) return;
    followed.add(selectionSet);
    for (const selection of selectionSet.selections) {
      if (selection.kind === Kind.FIELD) {
        const key = selection.alias?.value ?? selection.name.value;
        fields.set(key, [...(fields.get(key) ?? []), selection]);
        continue;
      }
      const isInline = selection.kind === Kind.INLINE_FRAGMENT;
      const fragment = isInline
        ? selection
        : fragments.find(({ name }) => name.value === selection.name.value);
      const condition = fragment?.typeCondition?.name.value;
      if (fragment && (condition === undefined || applies(condition))) collect(fragment.selectionSet);
    }
  };
  for (const selectionSet of selectionSets) collect(selectionSet);
  return fields;
}
