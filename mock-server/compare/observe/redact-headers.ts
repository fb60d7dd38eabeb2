const numeric = /^(retry-after|(x-)?ratelimit-(limit|remaining|reset))$/;

/** Response headers that a rule reads, each reduced to what can be no secret. */
export function redactHeaders(headers: Iterable<readonly [string, string]>): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const [name, value] of headers) {
    const redacted = redactHeader(name.toLowerCase(), value);
    if (redacted !== null) kept[name.toLowerCase()] = redacted;
  }
  return kept;
}

function redactHeader(name: string, value: string): string | null {
  if (name === "content-type") return /^[a-z]+\/[a-z0-9.+-]{1,60}/i.exec(value)?.[0]?.toLowerCase() ?? "…";
  if (numeric.test(name)) return /^\d{1,10}$/.test(value) ? value : "not a whole number";
  if (name === "allow") return /^[A-Z, ]{1,60}$/.test(value) ? value : "…";
  return null;
}
