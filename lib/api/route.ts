import type { z } from 'zod';
import type { EngineDeps } from '../engine/deps.ts';
import type { Method } from './http.ts';

export interface ApiDeps {
  readonly engine: EngineDeps;
}

/** What a route's work is given beside its input. */
export interface Call {
  readonly deps: ApiDeps;
  /** Milliseconds until the invocation is ended from outside. */
  readonly millisLeft: number;
}

export interface Outcome {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Record<string, string>;
}

export interface RouteResponse {
  readonly description: string;
  readonly schema: z.ZodType;
}

/** One row of the API: all that serving it and describing it takes. */
export interface Route {
  readonly method: Method;
  /** `{…}` stands for a name, which may hold any character, slashes too. */
  readonly path: string;
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly query: z.ZodObject;
  /** null: a body is not read into anything; only an empty object is taken. */
  readonly body: z.ZodType | null;
  readonly responses: Readonly<Record<number, RouteResponse>>;
  readonly run: (call: Call, input: { name: string; query: unknown; body: unknown }) => Promise<Outcome>;
}

/** Ties the types of a route's work to its schemas, and forgets them. */
export function route<Q extends z.ZodObject, B extends z.ZodType | null>(
  definition: Omit<Route, 'query' | 'body' | 'run'> & {
    readonly query: Q;
    readonly body: B;
    readonly run: (
      call: Call,
      input: { name: string; query: z.output<Q>; body: B extends z.ZodType ? z.output<B> : undefined },
    ) => Promise<Outcome>;
  },
): Route {
  return definition as unknown as Route;
}
