// The examples, and so the code that the documents show, compile against the built package as its users have it. `npm run
// typecheck` compiles them against the sources. Needs a build.
import { join } from "node:path";
import ts from "typescript";

const root = join(import.meta.dirname, "..");
const host = {
  ...ts.sys,
  onUnRecoverableConfigFileDiagnostic: ({ messageText }) => console.error(messageText),
};
const built = { customConditions: [], noEmit: true };
const { fileNames, options } = ts.getParsedCommandLineOfConfigFile(join(root, "tsconfig.json"), built, host);
const examples = fileNames.filter((file) => /\/examples\/[^/]+(?:\/[^/]+)*\.ts$/.test(file));
// It declares what the tests inject.
const declared = join(root, "test/support/preconditions.ts");
const program = ts.createProgram([...examples, declared], options);
const declarations = program
  .getSourceFiles()
  .filter(({ fileName }) => fileName.startsWith(join(root, "dist")));
const problems = ts
  .getPreEmitDiagnostics(program)
  .filter(({ file }) => file === undefined || examples.includes(file.fileName));

if (examples.length < 20 || declarations.length === 0) {
  console.error(
    `expected examples that use the build, got ${examples.length} with ${declarations.length} of its files`,
  );
  process.exitCode = 1;
}
if (problems.length > 0) {
  console.error(
    ts.formatDiagnostics(problems, { ...ts.sys, getCanonicalFileName: String, getNewLine: () => "\n" }),
  );
  process.exitCode = 1;
}
if (process.exitCode === undefined) console.log(`${examples.length} examples compile against the build`);
