// What one test of a file leaves behind meets the next: a page shows one test, its reader writes several.
import ts from "typescript";

interface Test {
  readonly start: number;
  readonly end: number;
  readonly endOfTitle: number;
  /** Tests of one block can be exchanged. */
  readonly block: ts.Node;
}

const runner = /^(?:it|test|mockTest|onVirtualTime|itWithPostgres)\b/;

/** The tests of a file, each several times, in random order. */
export function repeated(text: string, times = 4): string {
  const tests = testsOf(text);
  if (tests.length === 0) throw new Error(`expected a test in:\n${text}`);
  const copiesOf = ({ start, end, endOfTitle }: Test) =>
    Array.from(
      { length: times },
      (_, index) => `${text.slice(start, endOfTitle)}, time ${index + 1}${text.slice(endOfTitle, end)}\n`,
    );
  return replaced(text, tests, (test) => {
    const together = tests.filter(({ block }) => block === test.block);
    // Below what every one of them uses.
    return test === together.at(-1) ? shuffled(together.flatMap(copiesOf)).join("\n") : "";
  });
}

/** A file for each of the tests of a file, without the others. */
export function oneByOne(text: string): readonly string[] {
  const tests = testsOf(text);
  return tests.map((chosen) =>
    replaced(text, tests, (test) => (test === chosen ? text.slice(test.start, test.end) : "")),
  );
}

function testsOf(text: string): readonly Test[] {
  const tests: Test[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isExpressionStatement(node) && ts.isCallExpression(node.expression)) {
      const { expression: callee, arguments: values } = node.expression;
      const [title] = values;
      if (title && ts.isStringLiteralLike(title) && runner.test(callee.getText())) {
        tests.push({ start: node.getStart(), end: node.end, endOfTitle: title.end - 1, block: node.parent });
        return;
      }
    }
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile("page.test.ts", text, ts.ScriptTarget.Latest, true));
  return tests;
}

/** The last first, so that the places of the others stay. */
const replaced = (text: string, tests: readonly Test[], textOf: (test: Test) => string) =>
  tests.reduceRight((rest, test) => rest.slice(0, test.start) + textOf(test) + rest.slice(test.end), text);

const shuffled = (texts: readonly string[]) =>
  texts
    .map((text) => ({ text, place: Math.random() }))
    .toSorted((a, b) => a.place - b.place)
    .map(({ text }) => text);
