import { ConfigurationError } from "../errors.ts";

/**
 * Every visitor of a page can read the key it uses, so the SDK does not start there (interface §5: keys must not be
 * exposed to browser or mobile code). A page is told by its document, a web worker by `importScripts`.
 */
export function refuseBrowser(dangerouslyAllowBrowser: boolean): void {
  if (dangerouslyAllowBrowser || !isBrowser()) return;
  throw new ConfigurationError(
    "createClient: expected a server, got a browser: every visitor could read the key; " +
      "dangerouslyAllowBrowser switches this check off",
  );
}

function isBrowser(): boolean {
  const { window, importScripts } = globalThis as {
    window?: { document?: unknown };
    importScripts?: unknown;
  };
  return window?.document !== undefined || typeof importScripts === "function";
}
