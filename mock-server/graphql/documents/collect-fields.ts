import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLObjectType,
  type GraphQLSchema,
  isUnionType,
  Kind,
  type SelectionNode,
  type SelectionSetNode,
} from "graphql";

export type Fragments = ReadonlyMap<string, FragmentDefinitionNode>;

export const fragmentsOf = ({ definitions }: DocumentNode): Fragments =>
  new Map(
    definitions.flatMap((definition) =>
      definition.kind === Kind.FRAGMENT_DEFINITION ? [[definition.name.value, definition] as const] : [],
    ),
  );

export interface CollectOptions {
  readonly fragments: Fragments;
  /** Whether directives leave a selection in. Default: they do. */
  isIncluded?(selection: SelectionNode): boolean;
  /** Whether a fragment on this type applies. Default: it does. */
  applies?(condition: string): boolean;
}

/** Fields by their names in the response, each named fragment followed once, as the specification collects them. */
export function collectFields(
  selectionSets: readonly SelectionSetNode[],
  { fragments, isIncluded = () => true, applies = () => true }: CollectOptions,
): Map<string, FieldNode[]> {
  const fields = new Map<string, FieldNode[]>();
  const followed = new Set<string>();
  const collect = ({ selections }: SelectionSetNode): void => {
    for (const selection of selections) {
      if (!isIncluded(selection)) continue;
      if (selection.kind === Kind.FIELD) {
        const key = selection.alias?.value ?? selection.name.value;
        const nodes = fields.get(key);
        if (nodes) nodes.push(selection);
        else fields.set(key, [selection]);
        continue;
      }
      if (selection.kind === Kind.FRAGMENT_SPREAD && followed.has(selection.name.value)) continue;
      if (selection.kind === Kind.FRAGMENT_SPREAD) followed.add(selection.name.value);
      const fragment = fragmentAt(fragments, selection);
      const condition = fragment?.typeCondition?.name.value;
      if (fragment && (condition === undefined || applies(condition))) collect(fragment.selectionSet);
    }
  };
  for (const selectionSet of selectionSets) collect(selectionSet);
  return fields;
}

type FragmentSelection = Exclude<SelectionNode, FieldNode>;

export const fragmentAt = (fragments: Fragments, selection: FragmentSelection) =>
  selection.kind === Kind.INLINE_FRAGMENT ? selection : fragments.get(selection.name.value);

/** The unions of the contract have no interfaces: a condition names the type, or a union that it is part of. */
export function conditionApplies(schema: GraphQLSchema, type: GraphQLObjectType, condition: string): boolean {
  if (condition === type.name) return true;
  const conditionType = schema.getType(condition);
  return isUnionType(conditionType) && schema.isSubType(conditionType, type);
}
