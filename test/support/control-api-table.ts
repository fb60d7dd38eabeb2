import { createMockServer } from "workspace-tasks/mock-server";

type Operation = {
  readonly summary: string;
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
  readonly requestBody?: {
    readonly content: {
      readonly "application/json": { readonly schema: { readonly properties?: object } };
    };
  };
};

/** The document with the table of the control API replaced by the one of the mock's OpenAPI document. */
export async function withControlApi(document: string): Promise<string> {
  const [begin, end] = ["<!-- control-api:begin -->", "<!-- control-api:end -->"];
  const before = document.slice(0, document.indexOf(begin) + begin.length);
  return `${before}\n${await controlApiTable()}${document.slice(document.indexOf(end))}`;
}

async function controlApiTable(): Promise<string> {
  await using mock = await createMockServer({ listen: false });
  const response = await mock.fetch("/_mock/v1/openapi.json");
  const { paths } = (await response.json()) as {
    paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  };
  const rows = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(
      ([method, operation]) =>
        `| \`${method.toUpperCase()} ${path}\` | ${operation.summary} | ${fieldsOf(operation)} |\n`,
    ),
  );
  return `| call | what it does | fields |\n|---|---|---|\n${rows.join("")}`;
}

/** Fields of the body, or of the query. */
function fieldsOf({ parameters = [], requestBody }: Operation): string {
  const body = Object.keys(requestBody?.content["application/json"].schema.properties ?? {});
  const query = parameters.filter((parameter) => parameter.in === "query").map(({ name }) => `?${name}`);
  return [...body, ...query].map((name) => `\`${name}\``).join(" ");
}
