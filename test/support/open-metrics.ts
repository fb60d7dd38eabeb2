// A strict reader of OpenMetrics text, written from the specification and not from what the kit renders.

export interface MetricFamily {
  readonly type: string;
  readonly unit: string | undefined;
  readonly samples: readonly MetricSample[];
}

export interface MetricSample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const familyName = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;
const samplePattern = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (-?(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?|Inf)|NaN)$/;
const labelPattern = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\n"])*)"(,|$)/y;
/** Suffixes of the samples of each type. */
const suffixes: Readonly<Record<string, readonly string[]>> = {
  counter: ["_total", "_created"],
  gauge: [""],
};

/** @throws {Error} at the first line that the format does not permit */
export function parseOpenMetrics(text: string): ReadonlyMap<string, MetricFamily> {
  const families = new Map<string, MetricFamily & { readonly samples: MetricSample[] }>();
  const seen = new Set<string>();
  if (!text.endsWith("# EOF\n")) throw new Error("expected # EOF and a newline at the end");
  const lines = text.slice(0, -"# EOF\n".length).split("\n");
  if (lines.pop() !== "") throw new Error("expected a newline before # EOF");
  let current = "";
  for (const line of lines) {
    const fail = (problem: string) => new Error(`${problem}: ${line}`);
    if (line.startsWith("#")) {
      const [, keyword, name = "", rest = ""] = /^# (TYPE|UNIT|HELP) (\S+) (.+)$/.exec(line) ?? [];
      if (keyword === undefined) throw fail("not metadata");
      if (!familyName.test(name)) throw fail("malformed name");
      if (name !== current && families.has(name)) throw fail("family interrupted or repeated");
      if (name === current && (families.get(name)?.samples.length ?? 0) > 0)
        throw fail("metadata after samples");
      const family = families.get(name) ?? { type: "unknown", unit: undefined, samples: [] };
      if (keyword === "TYPE" && !(rest in suffixes)) throw fail("unexpected type");
      if (keyword === "UNIT" && !name.endsWith(`_${rest}`)) throw fail("the name does not end in its unit");
      if (keyword === "HELP" && /\\(?![\\n"])/.test(rest)) throw fail("malformed escape");
      const once = `${keyword} ${name}`;
      if (seen.has(once)) throw fail("repeated metadata");
      seen.add(once);
      families.set(name, {
        ...family,
        ...(keyword === "TYPE" && { type: rest }),
        ...(keyword === "UNIT" && { unit: rest }),
      });
      current = name;
      continue;
    }
    const [, name = "", labelText = "", value = ""] = samplePattern.exec(line) ?? [];
    if (name === "") throw fail("not a sample");
    const family = families.get(current);
    if (!family || !suffixes[family.type]?.some((suffix) => name === current + suffix)) {
      throw fail(`not a sample of ${current}`);
    }
    const labels = parseLabels(labelText, fail);
    const identity = JSON.stringify([name, Object.entries(labels).sort()]);
    if (seen.has(identity)) throw fail("repeated sample");
    seen.add(identity);
    const number = Number(value.replace("Inf", "Infinity"));
    if (family.type === "counter" && !(number >= 0)) throw fail("a counter is not negative or NaN");
    family.samples.push({ name, labels, value: number });
  }
  return families;
}

function parseLabels(text: string, fail: (problem: string) => Error): Record<string, string> {
  const labels: Record<string, string> = {};
  labelPattern.lastIndex = 0;
  while (text !== "" && labelPattern.lastIndex < text.length) {
    const match = labelPattern.exec(text);
    if (!match) throw fail("malformed labels");
    const [, name = "", value = ""] = match;
    if (Object.hasOwn(labels, name)) throw fail("repeated label");
    labels[name] = value.replace(/\\(.)/g, (_, char: string) => (char === "n" ? "\n" : char));
  }
  if (text.endsWith(",")) throw fail("malformed labels");
  return labels;
}
