import { ConfigurationError } from "../errors.ts";

/**
 * Throws in a browser: every visitor of a page can read the key it uses (interface §5: keys must not be exposed to
 * browser or mobile code). A page is recognised by its document, a web worker by `importScripts`.
 */
export function rejectBrowser(dangerouslyAllowBrowser: boolean): void {
  const { window, importScripts } = globalThis as {
    window?: { document?: unknown };
    importScripts?: unknown;
  };
  const isBrowser = window?.document !== undefined || typeof importScripts === "function";
  if (dangerouslyAllowBrowser || !isBrowser) return;
  throw new ConfigurationError(
    "createClient: expected a server, got a browser, where every visitor could read the key; " +
      "dangerouslyAllowBrowser switches this check off",
  );
}
