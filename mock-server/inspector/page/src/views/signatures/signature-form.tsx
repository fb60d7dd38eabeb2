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
      <label>
        Paste a whole request: raw HTTP, a curl command, or headers as an object
        <textarea
          rows={2}
          spellcheck={false}
          value={fields.whole}
          placeholder="webhook-id: …"
          onInput={({ currentTarget: { value } }) =>
            onChange({ ...fields, whole: value, ...readPastedRequest(value) })
          }
        />
      </label>
      <Field label="webhook-id" value={fields.id} onInput={set("id")} />
      <Field label="webhook-timestamp" value={fields.timestamp} onInput={set("timestamp")} />
      <Field label="webhook-signature" value={fields.signature} onInput={set("signature")} />
      <label>
        Body, exactly as received
        <textarea
          rows={9}
          spellcheck={false}
          value={fields.body}
          onInput={(event) => set("body")(event.currentTarget.value)}
        />
      </label>
      <Field
        label={`Secret (empty: those of ${isEndpointKnown ? "its endpoint" : "this mock"} are tried)`}
        value={fields.secret}
        onInput={set("secret")}
        covered
      />
    </section>
  );
}

interface FieldProps {
  readonly label: string;
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly covered?: boolean;
}

function Field({ label, value, onInput, covered = false }: FieldProps) {
  return (
    <label>
      {label}
      <input
        class="mono"
        type={covered ? "password" : "text"}
        autocomplete="off"
        spellcheck={false}
        value={value}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
    </label>
  );
}
