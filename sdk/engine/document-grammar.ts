// The grammar of executable GraphQL documents (September 2025, §2 and appendix C). The client needs the kinds and names of
// the operations in a text, and whether it has a syntax error; graphql-js, which would build a tree, is larger than the
// rest of the SDK together.

export interface OperationDefinition {
  readonly type: "query" | "mutation" | "subscription";
  readonly name: string | undefined;
}

/** The operations of a document. Throws a `SyntaxError`, which quotes nothing of the text. */
export function parseOperations(text: string): readonly OperationDefinition[] {
  return new DocumentParser(text).document();
}

const ignored = /(?:[\t\n\r ,\uFEFF]|#[^\n\r]*)*/y;
const name = /[_A-Za-z][_0-9A-Za-z]*/;
const punctuator = /\.\.\.|[!$&()=@:[\]{|}]/;
const blockString = /"""(?:\\"""|[^"]|"{1,2}(?!"))*"""/;
const string = /"(?!"")(?:[^"\\\n\r]|\\["\\/bfnrt]|\\u[0-9A-Fa-f]{4}|\\u\{[0-9A-Fa-f]{1,8}\})*"/;
const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![_A-Za-z0-9.])/;
const values = [blockString, string, number].map(({ source }) => source).join("|");
const lexemes = new RegExp(`(?<name>${name.source})|(?<punctuator>${punctuator.source})|${values}`, "y");

interface Token {
  readonly kind: "name" | "punctuator" | "value" | "end";
  readonly text: string;
}

const end: Token = { kind: "end", text: "" };
const operationTypes: ReadonlySet<string> = new Set(["query", "mutation", "subscription"]);

class DocumentParser {
  readonly #text: string;
  #index = 0;
  #token: Token;

  constructor(text: string) {
    this.#text = text;
    this.#token = this.#read();
  }

  document(): readonly OperationDefinition[] {
    const operations: OperationDefinition[] = [];
    do {
      const operation = this.#definition();
      if (operation) operations.push(operation);
    } while (this.#token !== end);
    return operations;
  }

  #definition(): OperationDefinition | undefined {
    if (this.#isAt("{")) {
      this.#selectionSet();
      return { type: "query", name: undefined };
    }
    this.#description();
    const keyword = this.#name();
    if (keyword === "fragment") {
      this.#fragmentName();
      this.#keyword("on");
      this.#name();
    } else if (!operationTypes.has(keyword)) throw new SyntaxError("unexpected name");
    const name = keyword !== "fragment" && this.#token.kind === "name" ? this.#name() : undefined;
    if (keyword !== "fragment" && this.#isAt("(")) this.#list("(", ")", () => this.#variableDefinition());
    this.#directives();
    this.#selectionSet();
    return keyword === "fragment" ? undefined : { type: keyword as OperationDefinition["type"], name };
  }

  #description(): void {
    const { kind, text } = this.#token;
    if (kind === "value" && text.startsWith('"')) this.#advance();
  }

  #variableDefinition(): void {
    this.#description();
    this.#variable();
    this.#punctuator(":");
    this.#type();
    if (this.#skip("=")) this.#value(true);
    this.#directives(true);
  }

  #type(): void {
    if (this.#skip("[")) {
      this.#type();
      this.#punctuator("]");
    } else this.#name();
    this.#skip("!");
  }

  #selectionSet(): void {
    this.#list("{", "}", () => this.#selection());
  }

  #selection(): void {
    if (!this.#skip("...")) {
      this.#field();
      return;
    }
    const isInline = this.#token.kind !== "name" || this.#token.text === "on";
    if (!isInline) this.#fragmentName();
    else if (this.#token.kind === "name") {
      this.#keyword("on");
      this.#name();
    }
    this.#directives();
    if (isInline) this.#selectionSet();
  }

  #field(): void {
    this.#name();
    if (this.#skip(":")) this.#name();
    this.#arguments(false);
    this.#directives();
    if (this.#isAt("{")) this.#selectionSet();
  }

  #directives(isConstant = false): void {
    while (this.#skip("@")) {
      this.#name();
      this.#arguments(isConstant);
    }
  }

  #arguments(isConstant: boolean): void {
    if (this.#isAt("(")) this.#list("(", ")", () => this.#namedValue(isConstant));
  }

  #namedValue(isConstant: boolean): void {
    this.#name();
    this.#punctuator(":");
    this.#value(isConstant);
  }

  #value(isConstant: boolean): void {
    const { kind } = this.#token;
    if (kind === "name" || kind === "value") this.#advance();
    else if (this.#skip("[")) while (!this.#skip("]")) this.#value(isConstant);
    else if (this.#skip("{")) while (!this.#skip("}")) this.#namedValue(isConstant);
    else if (isConstant) throw new SyntaxError("expected a constant");
    else this.#variable();
  }

  #variable(): void {
    this.#punctuator("$");
    this.#name();
  }

  #fragmentName(): void {
    if (this.#name() === "on") throw new SyntaxError("unexpected on");
  }

  /** At least one entry between two punctuators. */
  #list(open: string, close: string, entry: () => void): void {
    this.#punctuator(open);
    do entry();
    while (!this.#skip(close));
  }

  #name(): string {
    const { kind, text } = this.#token;
    if (kind !== "name") throw new SyntaxError("expected a name");
    this.#advance();
    return text;
  }

  #keyword(text: string): void {
    if (this.#name() !== text) throw new SyntaxError(`expected ${text}`);
  }

  #punctuator(text: string): void {
    if (!this.#skip(text)) throw new SyntaxError(`expected ${text}`);
  }

  #skip(text: string): boolean {
    const isAt = this.#isAt(text);
    if (isAt) this.#advance();
    return isAt;
  }

  #isAt(text: string): boolean {
    return this.#token.kind === "punctuator" && this.#token.text === text;
  }

  #advance(): void {
    this.#token = this.#read();
  }

  #read(): Token {
    ignored.lastIndex = this.#index;
    ignored.test(this.#text);
    if (ignored.lastIndex === this.#text.length) return end;
    lexemes.lastIndex = ignored.lastIndex;
    const { 0: text, groups = {} } = lexemes.exec(this.#text) ?? unexpectedCharacter();
    this.#index = lexemes.lastIndex;
    if (groups["name"] !== undefined) return { kind: "name", text };
    return { kind: groups["punctuator"] === undefined ? "value" : "punctuator", text };
  }
}

function unexpectedCharacter(): never {
  throw new SyntaxError("unexpected character");
}
