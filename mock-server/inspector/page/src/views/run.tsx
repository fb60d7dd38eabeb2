import { useEffect, useState } from "preact/hooks";
import { type OperationDocument, operationDocuments, schema } from "../operation-documents.ts";
import { ActionButton, useAction } from "../parts/action.tsx";
import { CodeEditor } from "../parts/code-editor.tsx";
import { Notice } from "../parts/notice.tsx";
import { Select } from "../parts/select.tsx";
import { control } from "../resource.ts";
import { goTo } from "../route.ts";
import { type RunResponse, runQuery } from "../run-query.ts";
import type { ViewProps } from "../view.ts";
import { KeyChoice } from "./key-choice.tsx";
import { RunResult } from "./run-result.tsx";
import { SchemaDocs } from "./schema-docs.tsx";
import "./run.css";

const first = operationDocuments.find(({ name }) => name === "Me") ?? operationDocuments[0];

interface Draft {
  readonly router: "base" | "gateway";
  readonly query: string;
  /** JSON. */
  readonly variables: string;
  /** `null`: of a document that was opened from a request, or edited by hand. */
  readonly operation: string | null;
}

const draftOf = ({ name, router, text, variables }: OperationDocument): Draft => ({
  router,
  query: text,
  variables: Object.keys(variables).length === 0 ? "" : JSON.stringify(variables, null, 2),
  operation: name,
});

/** Runs a GraphQL operation against the mock as one of its keys. */
export function RunView({ id }: ViewProps) {
  const [draft, setDraft] = useState<Draft>(first ? draftOf(first) : emptyDraft);
  const [keyId, setKeyId] = useState<string | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const [response, setResponse] = useState<RunResponse | null>(null);
  const action = useAction();
  useEffect(() => {
    setProblem(null);
    if (!id) return;
    openRequest(id).then(
      (opened) => {
        setDraft(opened.draft);
        setKeyId(opened.keyId ?? "");
        setProblem(opened.problem);
      },
      () => setProblem(`The journal does not have the request ${id} any more.`),
    );
  }, [id]);
  const [keepsToken, setKeepsToken] = useState(false);
  const run = async () =>
    setResponse(await runQuery({ ...draft, keyId, token: keepsToken ? (response?.token ?? null) : null }));
  const choose = (name: string) => {
    const chosen = operationDocuments.find((document) => document.name === name);
    if (!chosen) return;
    setDraft(draftOf(chosen));
    if (id) goTo("run");
  };
  return (
    <>
      <div class="title-bar">
        <h2>Run</h2>
        <div class="tools">
          <Select
            isFilter
            label="operation"
            value={draft.operation ?? ""}
            every="an operation of the SDK …"
            options={operationDocuments.map(({ name }) => name)}
            onSelect={choose}
          />
          <KeyChoice router={draft.router} value={keyId} onSelect={setKeyId} />
          <Select
            label="router"
            value={draft.router}
            options={["base", "gateway"]}
            onSelect={(router) => setDraft({ ...draft, router: router as Draft["router"] })}
          />
          <label class="check" title="Off: every run has a new token. On: the last one, until it expires.">
            <input
              type="checkbox"
              checked={keepsToken}
              onChange={({ currentTarget }) => setKeepsToken(currentTarget.checked)}
            />
            Keep the token
          </label>
          <ActionButton action={action} onRun={run} class="primary">
            Run
          </ActionButton>
        </div>
      </div>
      {problem && <Notice tone="wait">{problem}</Notice>}
      {action.notice}
      <div class="split run">
        <section class="panel" aria-label="Request">
          <h3>Document</h3>
          <CodeEditor
            label="Document"
            value={draft.query}
            schema={schema}
            onChange={(query) => setDraft((before) => ({ ...before, query }))}
            onRun={() => void action.run(run)}
          />
          <label>
            Variables, as JSON
            <textarea
              rows={5}
              spellcheck={false}
              value={draft.variables}
              placeholder="{}"
              onInput={({ currentTarget }) => setDraft({ ...draft, variables: currentTarget.value })}
            />
          </label>
          <SchemaDocs schema={schema} />
        </section>
        <RunResult response={response} />
      </div>
    </>
  );
}

const emptyDraft: Draft = { router: "base", query: "", variables: "", operation: null };

/** @param id the `sequence` of a request in the journal */
async function openRequest(id: string) {
  const { query, variables, router, keyId } = await control.getRequest(id);
  const text = JSON.stringify(variables ?? {}, null, 2);
  const isRedacted = `${query}${text}`.includes("[redacted]");
  return {
    draft: { router, query: query ?? "", variables: variables === null ? "" : text, operation: null },
    keyId,
    problem: isRedacted ? "Secrets in it are redacted: replace [redacted] before you run it." : null,
  };
}
