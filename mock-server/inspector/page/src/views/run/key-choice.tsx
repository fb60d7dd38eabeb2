import { Select } from "../../parts/controls/select.tsx";
import { control, useResource } from "../../state/resource.ts";
import { shortId } from "../../text/format.ts";

interface Props {
  readonly router: "base" | "gateway";
  /** `null`: the mock's own key for the router. */
  readonly value: string | null;
  readonly onSelect: (value: string | null) => void;
}

/** Who the request is made as. */
export function KeyChoice({ router, value, onSelect }: Props) {
  const topics = ["api-key", "partner-key", "membership"];
  const keys = useResource("api keys", topics, () => control.listApiKeys())?.data ?? [];
  const partners = useResource("partner keys", topics, () => control.listPartnerKeys())?.data ?? [];
  const options = [
    { value: "own", text: router === "gateway" ? "the mock's partner key" : "the mock's API key" },
    { value: "", text: "no token" },
    ...keys.map(({ id, role, access, revokedAt }) => ({
      value: id,
      text: `${revokedAt === null ? (role ?? "former member") : "revoked"}, ${access}, ${shortId(id)}`,
    })),
    ...partners.map(({ id }) => ({ value: id, text: `partner, ${shortId(id)}` })),
  ];
  return (
    <Select
      label="key"
      value={value ?? "own"}
      options={options}
      onSelect={(chosen) => onSelect(chosen === "own" ? null : chosen)}
    />
  );
}
