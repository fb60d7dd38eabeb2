import { CopyButton } from "../controls/copy-button.tsx";
import "./id.css";

/** A whole id with a button that copies it. */
export function Id({ id, href }: { readonly id: string; readonly href?: string | undefined }) {
  return (
    <span class="id">
      <span class="mono">{href ? <a href={href}>{id}</a> : id}</span>
      <CopyButton label="Copy" name={`copy ${id}`} text={id} class="quiet" />
    </span>
  );
}
