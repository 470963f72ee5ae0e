import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { Ajv } from "ajv";
import { parse } from "yaml";
import { z } from "zod";

const require = createRequire(import.meta.url);
const file = require.resolve("@neondatabase/api-client/public-v2-for-users.gen.yaml");

const Document = z.looseObject({
  paths: z.record(
    z.string(),
    z.record(z.string(), z.looseObject({ responses: z.looseObject({}).optional() }).or(z.unknown())),
  ),
});

/** The public API as its OpenAPI file has it: says what is wrong with a request or an answer. */
export class PublicApi {
  readonly #ajv = new Ajv({ strict: false, allErrors: true, formats });
  readonly #paths: readonly { template: string; pattern: RegExp; methods: ReadonlyMap<string, unknown> }[];

  constructor() {
    const document: unknown = parse(readFileSync(file, "utf8"), { maxAliasCount: -1 });
    this.#ajv.addSchema({ $id: "public", ...z.looseObject({}).parse(document) });
    this.#paths = Object.entries(Document.parse(document).paths).map(([template, methods]) => ({
      template,
      pattern: new RegExp(`^${template.replaceAll(/\{[^}]+\}/g, "[^/]+")}$`),
      methods: new Map(Object.entries(methods)),
    }));
  }

  /** The template of a path that the public API serves. */
  templateOf(method: string, path: string): string | undefined {
    const literalFirst = this.#paths.toSorted((one, other) => braces(one.template) - braces(other.template));
    return literalFirst.find(({ pattern, methods }) => pattern.test(path) && methods.has(method.toLowerCase()))
      ?.template;
  }

  /** Everything about a request that the public API would not take: its call, or its body. */
  requestProblems(method: string, path: string, body: unknown): string[] {
    const template = this.templateOf(method, path);
    if (template === undefined) return [`the public API has no ${method} ${path}`];
    if (body === undefined) return [];
    const pointer = `public#/paths/${template.replaceAll("/", "~1")}/${method.toLowerCase()}/requestBody`;
    return this.#problems(`${pointer}/content/application~1json/schema`, body, `${method} ${template}`);
  }

  /** Everything about an answer that the public API would not send; its file is older than the names of permissions. */
  problems(method: string, path: string, status: number, body: unknown): string[] {
    const template = this.templateOf(method, path);
    if (template === undefined) return [`the public API has no ${method} ${path}`];
    const reference = this.#answerReference(template, method.toLowerCase(), status);
    if (reference === undefined) return [];
    const problems = this.#problems(reference, body, `${method} ${template} ${status}`);
    return problems.filter((problem) => !problem.includes("effective_project_permission"));
  }

  #problems(reference: string, body: unknown, what: string): string[] {
    const validate = this.#ajv.getSchema(reference) ?? this.#ajv.compile({ $ref: reference });
    if (validate(body)) return [];
    return (validate.errors ?? []).map(({ instancePath, message }) => `${what}: ${instancePath} ${message}`);
  }

  /** Where in the document the schema of an answer stands; `undefined` where it has no body. */
  #answerReference(template: string, method: string, status: number): string | undefined {
    const pointer = `public#/paths/${template.replaceAll("/", "~1")}/${method}/responses`;
    const responses = Responses.parse(
      this.#paths.find((path) => path.template === template)?.methods.get(method),
    ).responses;
    const key = responses[String(status)] === undefined ? "default" : String(status);
    const response = responses[key];
    const content = "/content/application~1json/schema";
    if (response?.$ref !== undefined) return `public${response.$ref}${content}`;
    return response?.content === undefined ? undefined : `${pointer}/${key}${content}`;
  }
}

const Responses = z.looseObject({
  responses: z.record(z.string(), z.looseObject({ $ref: z.string().optional(), content: z.unknown().optional() })),
});

function braces(template: string): number {
  return template.split("{").length;
}

const formats = {
  "date-time": /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/,
  uuid: /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
  email: /^[^@\s]+@[^@\s]+$/,
  int32: { type: "number", validate: Number.isInteger },
  int64: { type: "number", validate: Number.isInteger },
  int: { type: "number", validate: Number.isInteger },
  double: true,
  float: true,
  binary: true,
  uri: true,
  url: true,
} as const;
