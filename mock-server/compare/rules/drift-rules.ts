import { type DocumentNode, parse } from "graphql";
import { operationDocuments } from "../../generated/operation-documents.ts";
import type { Evidence, ResponseShape, Shape } from "../observe/observation.ts";
import { allProbes } from "../plan/plan-probes.ts";
import { isGraphql } from "../plan/probe.ts";
import { checkShape, selectedCount } from "./check-shape.ts";
import { hasErrors, rejectedHere } from "./read-response.ts";
import { known, type Rule, unknown } from "./rule.ts";

export type OperationName = keyof typeof operationDocuments;

const operationNames = Object.keys(operationDocuments) as readonly OperationName[];

/** Reviews whether an operation that the SDK ships still fits: its document is accepted, its data has the types. */
function driftRule(name: OperationName): Rule {
  const { text, router } = operationDocuments[name];
  const own = allProbes.filter(({ id, request }) => {
    return id === `drift.${name}` || (isGraphql(request) && request.document === text);
  });
  const probes = own.map(({ id }) => id);
  let parsed: DocumentNode | undefined;
  return {
    id: `drift.${name}`,
    title: `the operation ${name} is accepted, and its response has the types of the contract`,
    assumptions: [],
    probes,
    find(evidence) {
      const responses = graphqlResponses(evidence, probes);
      if (responses.length === 0) return unknown(reasonOf(evidence, probes));
      parsed ??= parse(text, { noLocation: true });
      const document = parsed;
      const check = { issues: new Set<string>(), seen: new Set<string>() };
      for (const { probe, response } of responses) {
        const { data, errors = [] } = response;
        for (const { code, message } of errors) if (isAboutDocument(code, message)) check.issues.add(message);
        const isExecuted = probe !== `drift.${name}` && errors.length === 0;
        if (data !== undefined && isExecuted) checkShape(data, document, router, check);
      }
      const validated = responses.find(({ probe }) => probe === `drift.${name}`);
      const isValidated = validated !== undefined && !hasErrors(validated.response);
      // Rejected for another reason, such as a limit of operations per document.
      if (check.issues.size === 0 && check.seen.size === 0 && validated && !isValidated)
        return rejectedHere(validated.response);
      const selected = selectedCount(document);
      if (check.issues.size === 0 && !isValidated && check.seen.size * 3 < selected)
        return unknown(
          `the document is accepted; too little was returned to compare its types (${check.seen.size} of ${selected} fields)`,
        );
      return known(check.issues.size === 0 ? "the types of the contract" : [...check.issues].toSorted());
    },
  };
}

const isAboutDocument = (code: string | null, message: string) =>
  code === "GRAPHQL_VALIDATION_FAILED" ||
  /^(Cannot query field|Unknown (argument|type|fragment)|Field )/.test(message);

interface ProbeResponse {
  readonly probe: string;
  readonly response: ResponseShape;
}

const graphqlResponses = (evidence: Evidence, probes: readonly string[]): readonly ProbeResponse[] =>
  probes.flatMap((probe) => {
    const observation = evidence.get(probe);
    return observation?.outcome === "response" && observation.response.body === "graphql"
      ? [{ probe, response: observation.response }]
      : [];
  });

function reasonOf(evidence: Evidence, probes: readonly string[]): string {
  for (const probe of probes) {
    const observation = evidence.get(probe);
    if (observation && "reason" in observation) return observation.reason;
  }
  return "not sent";
}

/** Every tag in the data of all responses. */
const tagsOf = (evidence: Evidence): readonly string[] =>
  [...evidence.values()].flatMap((observation) =>
    observation.outcome === "response" && observation.response.data !== undefined
      ? tagsIn(observation.response.data)
      : [],
  );

function tagsIn(value: Shape): readonly string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(tagsIn) : [];
}

const idForm: Rule = {
  id: "ids.form",
  title: "ids are UUIDs of version 7",
  assumptions: [],
  probes: [],
  find(evidence) {
    const forms = tagsOf(evidence).flatMap((tag) => /^id:(\w+)#/.exec(tag)?.[1] ?? []);
    return forms.length === 0 ? unknown("no response has an id") : known([...new Set(forms)].toSorted());
  },
};

export const driftRules: readonly Rule[] = [...operationNames.map(driftRule), idForm];
