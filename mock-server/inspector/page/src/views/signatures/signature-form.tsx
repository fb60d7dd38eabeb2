import { TextField } from "../../parts/controls/fields.tsx";
import { readPastedRequest } from "../../signature/pasted-request.ts";

/** `whole` is the text that the other fields were read from, if they were. */
export const emptyFields = { whole: "", id: "", timestamp: "", signature: "", body: "", secret: "" };
export type Fields = typeof emptyFields;

interface FormProps {
  readonly fields: Fields;
  /** Whether the mock has the delivery, and so knows its endpoint. */
  readonly isEndpointKnown: boolean;
  readonly onChange: (fields: Fields) => void;
}

export function SignatureForm({ fields, isEndpointKnown, onChange }: FormProps) {
  const set = (name: keyof Fields) => (value: string) => onChange({ ...fields, [name]: value });
  return (
    <section class="panel" aria-label="Received request">
      <TextField
        label="Paste a whole request: raw HTTP, a curl command, or headers as an object"
        placeholder="webhook-id: …"
        rows={2}
        value={fields.whole}
        onInput={(whole) => onChange({ ...fields, whole, ...readPastedRequest(whole) })}
      />
      <TextField class="mono" label="webhook-id" value={fields.id} onInput={set("id")} />
      <TextField class="mono" label="webhook-timestamp" value={fields.timestamp} onInput={set("timestamp")} />
      <TextField class="mono" label="webhook-signature" value={fields.signature} onInput={set("signature")} />
      <TextField label="Body, exactly as received" rows={9} value={fields.body} onInput={set("body")} />
      <TextField
        class="mono"
        label={`Secret (empty: those of ${isEndpointKnown ? "its endpoint" : "this mock"} are tried)`}
        type="password"
        value={fields.secret}
        onInput={set("secret")}
      />
    </section>
  );
}
