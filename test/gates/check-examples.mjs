// The examples, and so the code that the documents show, compile against the tarballs as their users have them. `npm run
// typecheck` compiles them against the sources. Needs a build.
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { unpackPackages } from "../../scripts/pack.ts";
import { packages, root } from "../../scripts/packages.ts";

// Below this folder, so that they find the types of their dependencies.
const project = mkdtempSync(join(root, ".tmp/examples-"));
try {
  unpackPackages(project);
  compile();
} finally {
  rmSync(project, { recursive: true, force: true });
}

function compile() {
  const { examples, options } = configuration();
  // It declares what the tests inject.
  const declared = join(root, "test/support/preconditions.ts");
  const program = ts.createProgram([...examples, declared], options, hostWithPackages(options));
  const declarations = program.getSourceFiles().filter(({ fileName }) => fileName.startsWith(project));
  const problems = ts
    .getPreEmitDiagnostics(program)
    .filter(({ file }) => file === undefined || examples.includes(file.fileName));
  const used = packages.filter(({ name }) =>
    declarations.some(({ fileName }) => fileName.startsWith(`${project}/node_modules/${name}/dist/`)),
  );
  if (examples.length < 20 || used.length < packages.length) {
    console.error(
      `expected at least 20 examples that use all ${packages.length} packages, got ${examples.length} with ${used.map(({ name }) => name)}`,
    );
    process.exitCode = 1;
  }
  if (problems.length > 0) {
    console.error(
      ts.formatDiagnostics(problems, { ...ts.sys, getCanonicalFileName: String, getNewLine: () => "\n" }),
    );
    process.exitCode = 1;
  }
  if (process.exitCode === undefined)
    console.log(`${examples.length} examples compile against the ${used.length} packages`);
}

function configuration() {
  const host = {
    ...ts.sys,
    onUnRecoverableConfigFileDiagnostic: ({ messageText }) => console.error(messageText),
  };
  const built = { customConditions: [], noEmit: true };
  const { fileNames, options } = ts.getParsedCommandLineOfConfigFile(
    join(root, "tsconfig.json"),
    built,
    host,
  );
  return { options, examples: fileNames.filter((file) => /\/examples\/[^/]+(?:\/[^/]+)*\.ts$/.test(file)) };
}

/** Finds the packages of this repository in the project of the tarballs, for every importer. */
function hostWithPackages(options) {
  const host = ts.createCompilerHost(options);
  const isPackage = (name) => packages.some((each) => name === each.name || name.startsWith(`${each.name}/`));
  return {
    ...host,
    resolveModuleNameLiterals: (literals, importer, redirected, _, file) =>
      literals.map((literal) => {
        const from = isPackage(literal.text) ? join(project, "index.ts") : importer;
        const mode = ts.getModeForUsageLocation(file, literal, options);
        return ts.resolveModuleName(literal.text, from, options, host, undefined, redirected, mode);
      }),
  };
}
