import { BodyText } from "./body-text.tsx";
import { Headers } from "./headers.tsx";

interface Props {
  /** In words, such as its status. */
  readonly summary: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly isTruncated?: boolean | undefined;
}

/** An HTTP response. */
export const Response = ({ summary, headers, body, isTruncated }: Props) => (
  <>
    <h4>
      Response <span class="muted">{summary}</span>
    </h4>
    <Headers headers={headers} />
    {body !== "" && <BodyText label="Response body" text={body} />}
    {isTruncated && <p class="muted">The response was longer: only its start, up to here, was kept.</p>}
  </>
);
