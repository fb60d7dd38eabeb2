import type { RequestDetail as Detail, RecordedRequest } from "@workspace-tasks/mock-server/control";
import { CopyButton, LinkButton, Notice } from "@workspace-tasks/page-parts/controls.tsx";
import { type Column, column, ListView, timeColumn, usePages } from "@workspace-tasks/page-parts/lists.tsx";
import { hashOf } from "@workspace-tasks/page-parts/route.ts";
import { useNowMs, useResource } from "@workspace-tasks/page-parts/state.ts";
import { formatDuration, formatTime, formatTimeNear } from "@workspace-tasks/page-parts/text.ts";
import {
  Absent,
  BodyText,
  Facts,
  Headers,
  TextBlock,
  Truncated,
} from "@workspace-tasks/page-parts/values.tsx";
import { control, graphqlRequest, newToken, transport, type ViewProps } from "../mock.ts";
import { RequestHistogram, results, StatusBadge } from "../parts.tsx";
import { nameOf, reasonOf, toCurl, withDuration } from "../text.ts";

const columnsOf = (rows: readonly RecordedRequest[], nowMs: number): readonly Column<RecordedRequest>[] => [
  timeColumn("time", rows, ({ at }) => at, nowMs),
  column(
    "operation",
    ["minmax(160px, 1fr)", "minmax(120px, 1.6fr)", "minmax(0, 1fr)"],
    (request) => [
      nameOf(request),
      <span class="only-narrow">
        {[formatTimeNear(request.at, nowMs), request.status ?? "cut", reasonIfAny(request)]
          .filter((part) => part !== "")
          .join(" · ")}
      </span>,
    ],
    { value: nameOf },
  ),
  column("router", ["68px", null, null], ({ router }) => router, { class: "muted" }),
  column("caller", ["80px", null, null], ({ caller }) => caller, { class: "muted" }),
  column("HTTP", ["46px", "46px", null], ({ status }) => status ?? "cut"),
  column("took", ["64px", "64px", "58px"], ({ durationMs }) => formatDuration(durationMs), {
    class: "muted",
    value: ({ durationMs }) => durationMs,
  }),
  column("result", ["84px", "84px", "84px"], ({ result }) => <StatusBadge status={result} />, {
    value: ({ result }) => result,
  }),
  column("reason", ["minmax(120px, 1.6fr)", "minmax(60px, 1fr)", null], reasonIfAny, { class: "muted" }),
];

function reasonIfAny(request: RecordedRequest): string {
  return request.result === "succeeded" ? "" : reasonOf(request);
}

const resultNames = Object.keys(results) as readonly RecordedRequest["result"][];

export function RequestsView({ id, filter }: ViewProps) {
  const nowMs = useNowMs();
  const query = {
    result: resultNames.find((known) => known === filter["result"]),
    text: filter["text"]?.trim() || undefined,
    from: filter["from"],
    to: filter["to"],
  };
  const list = usePages(`requests ${JSON.stringify(query)}`, ["request"], (page) =>
    control.listRequests({ ...page, ...query }),
  );
  return (
    <ListView
      view="requests"
      id={id}
      filter={filter}
      fields={[
        { name: "text", label: "requests that contain", placeholder: "operation, key, error" },
        { name: "result", label: "result", options: resultNames },
      ]}
      chart={<RequestHistogram query={query} filter={filter} />}
      list={list}
      keyOf={({ sequence }) => String(sequence)}
      columns={columnsOf(list.rows, nowMs)}
      nothing="No request yet. Call the API with a client, or run an operation in Run."
      detail={(sequence) => <RequestDetail key={sequence} id={sequence} />}
    />
  );
}

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
