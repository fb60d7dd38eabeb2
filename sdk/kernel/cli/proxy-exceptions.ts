type Environment = Readonly<Record<string, string | undefined>>;

const proxyNames = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"].flatMap((name) => [name, name.toLowerCase()]);
const exceptionNames = ["no_proxy", "NO_PROXY"];
const ownHosts = ["127.0.0.1", "localhost", "::1"];

/**
 * The variables with which requests to this computer do not go through the proxy that the environment names: no proxy reaches
 * a mock that listens on loopback. Programs differ in the case that they read first, so both are set. Empty without a proxy.
 */
export function withoutProxyForThisComputer(env: Environment): Readonly<Record<string, string>> {
  if (!proxyNames.some((name) => env[name])) return {};
  const exceptions = (exceptionNames.map((name) => env[name]).find(Boolean) ?? "")
    .split(/[\s,]+/)
    .filter(Boolean);
  const missing = exceptions.includes("*") ? [] : ownHosts.filter((host) => !exceptions.includes(host));
  const text = [...exceptions, ...missing].join(",");
  return Object.fromEntries(exceptionNames.map((name) => [name, text]));
}
