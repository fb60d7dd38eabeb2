import { describeRequest, type GeneratedRequest, generateRequest } from "./generated-request.ts";
import { isRepeated, kitIsRight, listedDifferences, mustReject } from "./verifier-differences.ts";
import { kitAccepts, libraryAccepts } from "./verifiers.ts";

export interface Comparison {
  readonly count: number;
  /** Which listed differences occurred. */
  readonly met: ReadonlySet<string>;
  readonly failure: string | undefined;
}

/** Compares the requests of the seeds from `from` until `isEnough` or a failure. A test lists no differences. */
export async function compareVerifiers(
  from: number,
  isEnough: (count: number) => boolean,
  listed = listedDifferences,
): Promise<Comparison> {
  const met = new Set<string>();
  let count = 0;
  let failure: string | undefined;
  while (failure === undefined && !isEnough(count)) {
    const request = generateRequest(from + count);
    const problem = await compareRequest(request, listed, (id) => met.add(id)).catch(String);
    if (problem !== undefined) failure = `${problem}\n${describeRequest(request)}`;
    count += 1;
  }
  return { count, met, failure };
}

async function compareRequest(
  request: GeneratedRequest,
  listed: typeof listedDifferences,
  meet: (name: string) => void,
): Promise<string | undefined> {
  const accepts = await kitAccepts(request);
  if (accepts && mustReject(request)) return "the kit accepts what it must reject";
  if (accepts === libraryAccepts(request)) return undefined;
  const found = listed.filter((each) => (each === kitIsRight) === accepts && each.explains(request));
  for (const { id } of found) meet(id);
  if (found.length > 0 || (isRepeated(request) && !accepts)) return undefined;
  return `${accepts ? "the kit" : "standardwebhooks"} alone accepts`;
}
