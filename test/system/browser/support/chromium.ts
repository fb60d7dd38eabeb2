import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Browser, chromium } from "playwright-core";

// The browser comes packed inside the npm package @sparticuz/chromium, with the system libraries of Amazon
// Linux beside it for machines that have none. It is unpacked once per version, in a folder of its own that
// gets its name when it is complete, so two test runs that start together do not share a partial copy.

const chromiumFlags = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--font-render-hinting=none",
  // The names of a front end and of an attacker, in place of a DNS server: the page is loaded, then its name leads to
  // this computer.
  `--host-resolver-rules=${["devbox", "front", "rebound"].map((name) => `MAP ${name}.example 127.0.0.1`).join(", ")}`,
];

type Chromium =
  | { readonly executablePath: string; readonly env?: Record<string, string> }
  | { readonly channel: "chrome" };

let launched: Promise<Browser> | undefined;

/**
 * A browser without a window, which the test files of a process share; it ends with the process. The packed one runs on
 * Linux on x64; elsewhere the Chrome of the machine is taken. `WORKSPACE_TASKS_CHROMIUM` names the file of another one.
 */
export function sharedChromium(): Promise<Browser> {
  // It adds no listeners that a test file would leave behind.
  const signals = { handleSIGINT: false, handleSIGTERM: false, handleSIGHUP: false };
  const launch = () => chromium.launch({ ...launchOptions(), ...signals });
  // Rarely, Chromium crashes while it starts.
  launched ??= launch().catch(launch);
  return launched;
}

/** The options of Playwright. */
export const launchOptions = () => ({ ...locate(), args: chromiumFlags });

/** In one sentence why no browser can be started on this machine, or undefined. */
export async function chromiumMissing(): Promise<string | undefined> {
  try {
    const located = locate();
    // A folder that exists was complete, and its browser has been started before.
    if ("env" in located && existsSync(started(located.executablePath))) return undefined;
    await (await chromium.launch({ ...located, args: chromiumFlags, timeout: 30_000 })).close();
    if ("env" in located) writeFileSync(started(located.executablePath), "");
    return undefined;
  } catch (error) {
    const [reason = ""] = (error instanceof Error ? error.message : String(error)).split("\n");
    return `no Chromium can be started (${reason}); WORKSPACE_TASKS_CHROMIUM can name one`;
  }
}

const started = (executablePath: string) => `${executablePath}.started`;

function locate(): Chromium {
  const own = process.env["WORKSPACE_TASKS_CHROMIUM"];
  if (own) return { executablePath: own };
  if (process.platform !== "linux" || process.arch !== "x64") return { channel: "chrome" };
  const folder = unpackedBrowser();
  const executablePath = join(folder, "chromium");
  return { executablePath, env: environmentFor(folder, executablePath) };
}

function unpackedBrowser(): string {
  const folder = join(
    tmpdir(),
    `workspace-tasks-chromium-${packedVersion()}-${process.getuid?.() ?? "user"}`,
  );
  if (existsSync(folder)) return folder;
  const unpacking = mkdtempSync(join(tmpdir(), "workspace-tasks-unpacking-"));
  const script = fileURLToPath(new URL("unpack-chromium.mjs", import.meta.url));
  execFileSync(process.execPath, [script], { env: { ...process.env, TMPDIR: unpacking } });
  writeFileSync(join(unpacking, "fonts.conf"), fontSettings(folder));
  try {
    renameSync(unpacking, folder);
  } catch (error) {
    if (!existsSync(folder)) throw error;
    rmSync(unpacking, { recursive: true, force: true }); // Another run was faster.
  }
  return folder;
}

function packedVersion(): string {
  const entry = createRequire(import.meta.url).resolve("@sparticuz/chromium");
  const folder = entry.slice(0, entry.lastIndexOf("chromium/") + "chromium/".length);
  return (JSON.parse(readFileSync(`${folder}package.json`, "utf8")) as { version: string }).version;
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

/** The packed libraries are used only if the browser does not start with those of the system. */
function environmentFor(folder: string, executablePath: string): Record<string, string> {
  const environment: Record<string, string> = { FONTCONFIG_FILE: join(folder, "fonts.conf"), HOME: folder };
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
