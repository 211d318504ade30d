import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { openApiDocument } from '../../lib/api/openapi.ts';
import { ROUTES } from '../../lib/api/routes.ts';

interface Operation {
  readonly responses: Record<string, { content: { 'application/json': { schema: unknown } } }>;
  readonly requestBody?: { content: { 'application/json': { schema: unknown } } };
}

/** Checks answers against what the served document promises, with another implementation of JSON Schema than made it. */
export class OpenApiChecker {
  readonly document = JSON.parse(JSON.stringify(openApiDocument(ROUTES))) as {
    readonly paths: Record<string, Record<string, Operation>>;
    readonly components: { readonly schemas: Record<string, unknown> };
  };
  readonly #ajv = new Ajv2020({
    strict: true,
    allowUnionTypes: true,
    allErrors: true,
    formats: { 'date-time': true },
  }).addVocabulary(['components', 'paths', 'openapi', 'info', 'servers', 'security']);
  readonly #compiled = new Map<string, ValidateFunction>();

  constructor() {
    this.#ajv.addSchema({ $id: 'document', ...this.document });
  }

  /** What is wrong with an answer; null for nothing. */
  problemOf(path: string, method: string, status: number, body: unknown): string | null {
    const at = `#/paths/${pointer(path)}/${method.toLowerCase()}/responses/${status}/content/application~1json/schema`;
    return this.#check(at, body);
  }

  /** What is wrong with a request; null for nothing. */
  requestProblemOf(path: string, method: string, body: unknown): string | null {
    return this.#check(
      `#/paths/${pointer(path)}/${method.toLowerCase()}/requestBody/content/application~1json/schema`,
      body,
    );
  }

  #check(at: string, value: unknown): string | null {
    let validate = this.#compiled.get(at);
    if (validate === undefined) {
      validate = this.#ajv.compile({ $ref: `document${at}` });
      this.#compiled.set(at, validate);
    }
    return validate(value) ? null : this.#ajv.errorsText(validate.errors);
  }
}

function pointer(path: string): string {
  return encodeURIComponent(path.replaceAll('~', '~0').replaceAll('/', '~1'));
}
