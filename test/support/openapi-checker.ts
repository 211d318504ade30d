import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { openApiDocument } from '../../lib/api/openapi.ts';
import { ROUTES } from '../../lib/api/routes.ts';
import type { ApiAnswer, ApiHarness, CallOptions } from './api-harness.ts';

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

  /** Calls, and throws where the answer is not what the document promises for this path, method and status. */
  async call(api: ApiHarness, method: string, target: string, options?: CallOptions): Promise<ApiAnswer> {
    const answer = await api.call(method, target, options);
    const path = target
      .replace(/\?.*/, '')
      .replace(/^\/flows\/[^/]+/, '/flows/{name}')
      .replace(/^\/tables\/[^/]+/, '/tables/{table}');
    const problem = this.problemOf(path, method, answer.status, answer.body);
    if (problem !== null) throw new Error(`${method} ${target}: ${problem}: ${answer.text}`);
    return answer;
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
