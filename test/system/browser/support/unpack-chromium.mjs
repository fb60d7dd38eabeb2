// Unpacks the browser of @sparticuz/chromium, its fonts and the libraries that a bare machine lacks into the
// folder that TMPDIR names. A process of its own, for the package reads and changes the environment; it
// unpacks the libraries only where it believes to run on Lambda.
process.env["AWS_EXECUTION_ENV"] = "AWS_Lambda_nodejs20.x";
const { default: packed } = await import("@sparticuz/chromium");
await packed.executablePath();
