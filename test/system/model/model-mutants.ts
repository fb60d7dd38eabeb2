import type { Patch } from "../../integration/simulation/patched-product.ts";
import type { ModelCheck } from "./check-model.ts";

/** A fault of the protocol, and what of the model it must violate. */
export interface ModelMutant extends ModelCheck {
  readonly name: string;
  readonly bug: string;
  readonly violates: readonly string[];
  readonly patches: readonly Patch[];
}

const workers = { model: "workers", bounds: { LOST_CLAIMS: 0 } } as const;

export const modelMutants: readonly ModelMutant[] = [
  {
    ...workers,
    name: "lease-by-key",
    bug: "a lease is recognised by its key alone: neither generation nor worker are compared",
    violates: ["I3", "I4", "K1", "A1"],
    patches: [{ find: " && key[k].worker == l.worker && key[k].generation == l.generation", replace: "" }],
  },
  {
    model: "workers",
    name: "name-of-process",
    bug: "claims of one process have one name, and the database loses a claim",
    violates: ["I3", "I4", "K1", "A1"],
    patches: [
      { find: "         names++;\n         claim(KEY,", replace: "         names = 1;\n         claim(KEY," },
    ],
  },
  {
    ...workers,
    name: "head-not-compared",
    bug: "an event is applied although a newer one was applied before its claim",
    violates: ["I3"],
    patches: [
      { find: "  :: l.head >= position(r) ->", replace: "  :: l.head > ROWS ->" },
      { find: "row[r].state == pending && key[k].head >= position(r) ->", replace: "key[k].head > ROWS ->" },
    ],
  },
  {
    ...workers,
    name: "not-superseded",
    bug: "an event is applied although a request applied a newer one since its claim",
    violates: ["I3"],
    patches: [
      { find: "row[r].state == pending && key[k].head >= position(r) ->", replace: "key[k].head > ROWS ->" },
    ],
  },
  {
    ...workers,
    name: "attempt-not-counted",
    bug: "an attempt whose lease expired is not counted",
    violates: ["A1"],
    patches: [{ find: "              row[r_].attempts++;\n", replace: "" }],
  },
  {
    ...workers,
    name: "attempt-of-another-row",
    bug: "a crash counts for the first due row of the key, not for the one that was being handled",
    violates: ["A1"],
    patches: [
      {
        find: "    :: key[k].claimed & bit(r_) ->\n",
        replace: "    :: keyOf(r_) == k && row[r_].state == pending && row[r_].due == 0 ->\n",
      },
    ],
  },
  {
    ...workers,
    name: "leased-key-claimed",
    bug: "a key that another worker holds can be claimed",
    violates: ["K1", "A1"],
    patches: [
      {
        find: "       isIdle(w) && isDue(KEY) ->\n",
        replace: "       isIdle(w) && key[KEY].wake != NEVER -> key[KEY].wake = 0;\n",
      },
    ],
  },
  {
    ...workers,
    name: "lease-never-expires",
    bug: "a key whose worker crashed is never claimed again",
    violates: ["A1", "I5"],
    patches: [
      {
        find: "isDue(k) && key[k].worker != 0 -> recover(k)",
        replace: "isDue(k) && key[k].worker != 0 -> key[k].wake = NEVER",
      },
    ],
  },
  {
    ...workers,
    name: "late-row-asleep",
    bug: "a row that is stored while its key is leased is not found when the lease ends",
    violates: ["I5"],
    patches: [
      {
        find: "next_ = (count_ == 1 && outcome == retry -> RETRY : 0);",
        replace: "next_ = (outcome == retry -> RETRY : NEVER);",
      },
    ],
  },
  {
    ...workers,
    name: "ended-twice",
    bug: "a row that has ended can end once more while its lease lasts",
    violates: ["I3", "I4"],
    patches: [
      {
        find: "  :: isHeld(k, l) && row[r].state == pending ->\n       row[r].attempts",
        replace: "  :: isHeld(k, l) ->\n       row[r].attempts",
      },
    ],
  },
  {
    ...workers,
    name: "retry-resets-attempts",
    bug: "a failed attempt is not counted",
    violates: ["A1"],
    patches: [
      { find: "(outcome == release -> 0 : 1)", replace: "(outcome == release || outcome == retry -> 0 : 1)" },
    ],
  },
];
