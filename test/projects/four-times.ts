// What one test of a file leaves behind meets the next: a page shows one test, its reader writes several.

/** At the start of a line or in a block, to the end of its call. */
const testCall = /^( *)(?:it|test|mockTest|onVirtualTime)\([\s\S]*?^\1\}\)?\)?;\n/gm;
const title = /\("([^"]*)"/;

/** The tests of a file, each four times. */
export function fourTimes(text: string): string {
  if (!text.match(testCall)) throw new Error(`expected a test in:\n${text}`);
  const copy = (test: string, time: number) => test.replace(title, (_, words) => `("${words}, time ${time}"`);
  return text.replace(testCall, (test) => [1, 2, 3, 4].map((time) => copy(test, time)).join("\n"));
}

/** A file for each of the tests of a file, without the others. */
export function oneByOne(text: string): readonly string[] {
  return (text.match(testCall) ?? []).map((_, chosen) => {
    let index = 0;
    return text.replace(testCall, (test) => (index++ === chosen ? test : ""));
  });
}
