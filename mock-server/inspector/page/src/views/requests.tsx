import type { RecordedRequest } from "@workspace-tasks/mock-server/control";
import { type Column, column, ListView, timeColumn, usePages } from "@workspace-tasks/page-parts/lists.tsx";
import { useNowMs } from "@workspace-tasks/page-parts/state.ts";
import { formatDuration, formatTimeNear } from "@workspace-tasks/page-parts/text.ts";
import type { ViewProps } from "../app/views.ts";
import { StatusBadge } from "../parts/delivery-state.tsx";
import { control } from "../state/mock.ts";
import { nameOf, reasonOf } from "../text/request-labels.ts";
import { RequestHistogram, results } from "./histograms.tsx";
import { RequestDetail } from "./request-detail.tsx";

const columnsOf = (rows: readonly RecordedRequest[], nowMs: number): readonly Column<RecordedRequest>[] => [
  timeColumn("time", rows, ({ at }) => at, nowMs),
  column(
    "operation",
    ["minmax(160px, 1fr)", "minmax(120px, 1.6fr)", "minmax(0, 1fr)"],
    (request) => (
      <>
        <span>{nameOf(request)}</span>
        <span class="muted only-narrow">
          {[formatTimeNear(request.at, nowMs), request.status ?? "cut", reasonIfAny(request)]
            .filter((part) => part !== "")
            .join(" · ")}
        </span>
      </>
    ),
    { class: "two-lines", value: nameOf },
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
