/** A test case of a JUnit report; without `failure`, `skipped` and `error` it passed. */
export interface JunitCase {
  readonly id: string;
  readonly name: string;
  readonly failure?: string;
  readonly skipped?: string;
  readonly error?: string;
  readonly details?: string;
}

const kinds = ["failure", "skipped", "error"] as const;

/** A document as systems of CI read it: one suite. */
export function renderJunit(suite: string, cases: readonly JunitCase[]): string {
  const count = (kind: (typeof kinds)[number]) => cases.filter((each) => each[kind] !== undefined).length;
  const counts = `tests="${cases.length}" failures="${count("failure")}" skipped="${count("skipped")}" errors="${count("error")}"`;
  const body = cases.map(renderCase).join("");
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites ${counts}>\n<testsuite name="${escapeXml(suite)}" ${counts}>\n${body}</testsuite>\n</testsuites>\n`;
}

function renderCase({ id, name, details = "", ...outcomes }: JunitCase): string {
  const open = `<testcase classname="${escapeXml(id)}" name="${escapeXml(name)}"`;
  const kind = kinds.find((each) => outcomes[each] !== undefined);
  if (kind === undefined) return `${open}/>\n`;
  const message = `<${kind} message="${escapeXml(outcomes[kind] ?? "")}"`;
  if (kind === "skipped") return `${open}>${message}/></testcase>\n`;
  return `${open}>${message}>${escapeXml(details)}</${kind}></testcase>\n`;
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&apos;",
};

const escapeXml = (text: string) =>
  // Control characters, halves of surrogate pairs and two signs at the end of a plane are not allowed in XML.
  text
    .replace(/\s+/g, " ")
    .replace(/[^\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu, "")
    .replace(/[&<>"']/g, (sign) => entities[sign] ?? sign);
