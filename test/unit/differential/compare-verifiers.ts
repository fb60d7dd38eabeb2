import type { DifferentialPart } from "./differential-part.ts";
import { describeRequest, type GeneratedRequest, generateRequest } from "./generated-request.ts";
import { isRepeated, kitIsRight, listedDifferences, mustReject } from "./verifier-differences.ts";
import { kitAccepts, libraryAccepts } from "./verifiers.ts";

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

/** Which differences are listed: a test lists none. */
export const createVerifierPart = (listed = listedDifferences): DifferentialPart => ({
  what: "generated requests",
  async runOne(seed, meet) {
    const request = generateRequest(seed);
    const problem = await compareRequest(request, listed, meet).catch(String);
    return problem === undefined ? undefined : `${problem}\n${describeRequest(request)}`;
  },
});
