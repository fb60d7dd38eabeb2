import type { RequestDetail as Detail } from "@workspace-tasks/mock-server/control";
import { hashOf } from "@workspace-tasks/page-parts/address.ts";
import { CopyButton, LinkButton, Notice } from "@workspace-tasks/page-parts/controls.tsx";
import { useResource } from "@workspace-tasks/page-parts/state.ts";
import { Absent } from "@workspace-tasks/page-parts/status.tsx";
import { formatTime } from "@workspace-tasks/page-parts/text.ts";
import { BodyText, Facts, Headers, TextBlock, Truncated } from "@workspace-tasks/page-parts/values.tsx";
import { StatusBadge } from "../parts/delivery-state.tsx";
import { graphqlRequest, newToken } from "../run/request-keys.ts";
import { control, transport } from "../state/mock.ts";
import { toCurl, withDuration } from "../text/http-text.ts";
import { nameOf } from "../text/request-labels.ts";

export function RequestDetail({ id }: { readonly id: string }) {
  const request = useResource(`request ${id}`, [], () => control.getRequest(id));
  if (!request) return <Absent value={request} text="The journal does not have this request any more." />;
  const { query, variables, errors, rejection, faults, keyId, status, message } = request;
  // A syntax error is the reason of the rejection, and the error of the response.
  const reason = errors.some(({ message }) => message === rejection) ? null : rejection;
  return (
    <section class="panel">
      <div class="title-bar">
        <h3>{nameOf(request)}</h3>
        <StatusBadge status={request.result} />
      </div>
      {reason && <Notice tone="bad">{reason}</Notice>}
      {errors.map(({ message: text, code, path }) => (
        <Notice tone="bad" key={`${path} ${text}`}>
          {text} {code && <code>{code}</code>} {path && <span>at {path}</span>}
        </Notice>
      ))}
      {faults.length > 0 && <Notice tone="wait">Altered by a fault: {faults.join(", ")}</Notice>}
      <Tools request={request} />
      <Facts
        values={{
          at: withDuration(formatTime(request.at), ", took", request.durationMs),
          caller: (
            <>
              {request.caller}
              {keyId && <span class="muted mono"> {keyId}</span>}
            </>
          ),
          router: request.router,
          "source-platform": request.sourcePlatform,
        }}
      />
      <h4>
        Response{" "}
        <span class="muted">{status === null ? "none, the connection was cut" : `HTTP ${status}`}</span>
      </h4>
      {status !== null && message && <Headers headers={message.responseHeaders} />}
      {message?.responseBody && <BodyText label="Response body" text={message.responseBody} />}
      {message?.responseTruncated && <Truncated />}
      {status !== null && message === null && (
        <p class="muted">Only the newest requests have their headers and response.</p>
      )}
      <h4>Document</h4>
      <TextBlock text={query ?? "none that is valid"} />
      <h4>
        Variables <span class="muted">keys and tokens are redacted</span>
      </h4>
      <TextBlock syntax="json" text={variables === null ? "none" : JSON.stringify(variables, null, 2)} />
      {message && (
        <details>
          <summary>Request headers</summary>
          <Headers headers={message.requestHeaders} />
        </details>
      )}
    </section>
  );
}

function Tools({
  request: { sequence, query, variables, router, keyId, caller },
}: {
  readonly request: Detail;
}) {
  if (!query) return null;
  // A new token of the same key: the command works as it is, as long as the token lives and the key is not revoked.
  const copy = async () => {
    const token = keyId === null ? null : await newToken(router, keyId, caller).catch(() => null);
    return toCurl(graphqlRequest(router, token, query, variables));
  };
  return (
    <div class="tools">
      <LinkButton label="Open in Run" href={hashOf("run", String(sequence))} />
      {transport.hasAddress && <CopyButton label="Copy as curl" text={copy} />}
    </div>
  );
}
