// The client needs the kinds and names of the operations in a text, no more of it: graphql-js, which would parse it, is
// larger than the rest of the SDK together. In a valid document they are what is outside of all brackets, before a `{`.
// Any other text is for the service to reject.

export interface OperationDefinition {
  readonly type: "query" | "mutation" | "subscription";
  readonly name: string | undefined;
}

const blockString = /"""(?:\\"""|[^"]|"{1,2}(?!"))*"""/;
const string = /"(?:\\.|[^"\\\n\r])*"/;
const comment = /#[^\n\r]*/;
const nameOrPunctuator = /[_A-Za-z][_0-9A-Za-z]*|[{}()[\]@]/;
const lexemes = [blockString, string, comment, nameOrPunctuator].map(({ source }) => source).join("|");

/** The operations of a valid document. */
export function findOperations(text: string): readonly OperationDefinition[] {
  const operations: OperationDefinition[] = [];
  let depth = 0;
  let head: string[] = [];
  for (const [lexeme] of text.matchAll(new RegExp(lexemes, "g"))) {
    if (/^["#]/.test(lexeme)) continue;
    if (/^[{([]/.test(lexeme)) {
      if (depth === 0 && lexeme === "{") {
        operations.push(...operationOf(head));
        head = [];
      }
      depth += 1;
    } else if (/^[})\]]/.test(lexeme)) depth -= 1;
    else if (depth === 0) head.push(lexeme);
  }
  return operations;
}

/** @param head such as `query`, `Name`, `@`, `directive`; empty for the short form of a query */
function operationOf([type = "query", name]: readonly string[]): readonly OperationDefinition[] {
  if (type !== "query" && type !== "mutation" && type !== "subscription") return [];
  return [{ type, name: name === "@" ? undefined : name }];
}
