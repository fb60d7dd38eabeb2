// A receiver of many tenants keeps the deliveries of each under a source of its own, `source/tenant`: ids, ordering heads
// and backlog of one tenant cannot affect those of another. Neither part contains a slash.

const separator = "/";
/** Follows the separator in byte order. */
const afterSeparator = "0";

export function tenantSource(source: string, tenant: string | undefined): string {
  return tenant === undefined ? source : `${source}${separator}${tenant}`;
}

export function splitSource(stored: string): {
  readonly source: string;
  readonly tenant: string | undefined;
} {
  const at = stored.indexOf(separator);
  return at < 0
    ? { source: stored, tenant: undefined }
    : { source: stored.slice(0, at), tenant: stored.slice(at + 1) };
}

/** True for the source itself and for those of its tenants. */
export function includesSource(source: string, stored: string): boolean {
  return stored === source || stored.startsWith(source + separator);
}

/** The stored sources of tenants are greater than `from` and less than `to`, by bytes. */
export function tenantRange(source: string): { readonly from: string; readonly to: string } {
  return { from: source + separator, to: source + afterSeparator };
}
