import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { type Browser, chromium } from "playwright-core";

// The browser comes packed inside the npm package @sparticuz/chromium, with the system libraries of Amazon
// Linux beside it for machines that have none. It is unpacked once per version, in a folder of its own that
// gets its name when it is complete: two test runs that start together do not see each other's half.

const quiet = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--font-render-hinting=none",
];

export async function launchChromium(): Promise<Browser> {
  const folder = unpackedBrowser();
  const executablePath = join(folder, "chromium");
  return chromium.launch({ executablePath, args: quiet, env: environmentFor(folder, executablePath) });
}

function unpackedBrowser(): string {
  const manifest = join(packageFolder(), "package.json");
  const { version } = JSON.parse(readFileSync(manifest, "utf8")) as { version: string };
  const folder = join(tmpdir(), `workspace-tasks-chromium-${version}-${userInfo().username}`);
  if (existsSync(folder)) return folder;
  const unpacking = mkdtempSync(join(tmpdir(), "workspace-tasks-chromium-"));
  unpackInto(unpacking);
  try {
    renameSync(unpacking, folder);
  } catch (error) {
    if (!existsSync(folder)) throw error;
    rmSync(unpacking, { recursive: true, force: true }); // Another run was faster.
  }
  return folder;
}

/** The package unpacks to the system's folder for temporary files, and its libraries on Lambda only. */
function unpackInto(folder: string): void {
  const script = `
    process.env.TMPDIR = ${JSON.stringify(folder)};
    process.env.AWS_EXECUTION_ENV = "AWS_Lambda_nodejs20.x";
    const { default: packed } = await import("@sparticuz/chromium");
    await packed.executablePath();`;
  execFileSync(process.execPath, ["--input-type=module", "--eval", script], { cwd: packageFolder() });
}

// The packed font comes first, so that pictures look alike everywhere; the machine's own fonts fill in.
const fontSettings = (folder: string) => `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>${folder}/fonts/fonts</dir>
  <dir>/usr/share/fonts</dir>
  <cachedir>${folder}/font-cache</cachedir>
  <alias binding="strong"><family>system-ui</family><prefer><family>Open Sans</family></prefer></alias>
  <alias binding="strong"><family>sans-serif</family><prefer><family>Open Sans</family></prefer></alias>
  <alias binding="strong"><family>monospace</family><prefer><family>DejaVu Sans Mono</family></prefer></alias>
</fontconfig>
`;

function packageFolder(): string {
  const entry = createRequire(import.meta.url).resolve("@sparticuz/chromium");
  return entry.slice(0, entry.lastIndexOf("chromium/") + "chromium".length);
}

/** The libraries that came along are used only where the system's own do not start the browser. */
function environmentFor(folder: string, executablePath: string): Record<string, string> {
  const fonts = join(folder, "fonts.conf");
  writeFileSync(fonts, fontSettings(folder));
  const environment: Record<string, string> = { FONTCONFIG_FILE: fonts, HOME: folder };
  for (const name of ["PATH", "LANG", "TMPDIR"]) {
    const value = process.env[name];
    if (value !== undefined) environment[name] = value;
  }
  try {
    execFileSync(executablePath, ["--version", "--no-sandbox"], { env: environment, stdio: "ignore" });
    return environment;
  } catch {
    return { ...environment, LD_LIBRARY_PATH: join(folder, "al2023", "lib") };
  }
}
