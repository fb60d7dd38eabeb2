import { describe, expect, it } from "vitest";
import { checkOptions, object } from "../../../../mock-server/checks/check-options.ts";
import { didYouMean as commandLine, didYouMean as receiverKit } from "../../../../sdk/kernel/did-you-mean.ts";
import { anything, strictObject } from "../../../../sdk/kernel/schema.ts";

const messageOf = (check: () => unknown): string => {
  try {
    return String(check());
  } catch (error) {
    return String(error);
  }
};

// The products do not import each other, so each has the rule: at most a third of the letters differ, but two may.
const rules: Readonly<Record<string, (given: string, known: string) => string>> = {
  sdk: (given, known) => messageOf(() => strictObject({ [known]: anything })({ [given]: 1 }, "")),
  "mock-server": (given, known) => messageOf(() => checkOptions("f", { [given]: 1 }, { [known]: object })),
  "receiver-kit": (given, known) => receiverKit(given, [known]),
  cli: (given, known) => commandLine(given, [known]),
};

describe.each(Object.entries(rules))("a suggestion of %s", (_, messageFor) => {
  it.each([
    ["timeoutms", "timeoutMs", true],
    ["TIMEOUTMS", "timeoutMs", true],
    ["timeout", "timeoutMs", true],
    ["lsit", "list", true],
    ["it", "id", true],
    ["x", "y", false],
    ["port", "seed", false],
    ["observeUrlTimeout", "observeTimeoutMs", true],
    ["retries", "timeoutMs", false],
  ])("names the nearest known name for %s when %s is known: %s", (given, known, isSuggested) => {
    expect(messageFor(given, known).includes(`did you mean ${known}?`)).toBe(isSuggested);
  });
});
