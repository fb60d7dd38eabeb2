/** The URL of an endpoint without its scheme. */
const nameOfEndpoint = (url: string | null): string =>
  url?.replace(/^https?:\/\//, "") ?? "a deleted endpoint";

const labelCharsMax = 44;

/** The URL in few characters: the host stays, the middle is cut, the end of the path is what differs. */
export function labelOfEndpoint(url: string | null, charsMax = labelCharsMax): string {
  const name = nameOfEndpoint(url).replace(/\/$/, "");
  if (name.length <= charsMax) return name;
  const host = name.slice(0, `${name}/`.indexOf("/"));
  const startChars = Math.min(host.length + 1, Math.ceil(charsMax * 0.6));
  return `${name.slice(0, startChars)}…${name.slice(1 + startChars - charsMax)}`;
}

/** `refused`, `timed out`, or `no response` after another failure of the connection. */
export function reasonOfFailure(error: string | null): string {
  if (error?.startsWith("ECONNREFUSED")) return "refused";
  return error && /response within/.test(error) ? "timed out" : "no response";
}
