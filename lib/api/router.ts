import { HttpError, type Method } from './http.ts';
import type { Route } from './route.ts';

export interface RouteMatch {
  readonly route: Route;
  /** What stands for the `{…}` of the path; empty where it has none. */
  readonly name: string;
}

/**
 * Finds the route of a request. The most literal path that fits wins, whatever the method: `/flows/a/state` is the state of `a`,
 * not a flow named `a/state`. Throws 404 with the paths there are, and 405 with the methods that the path has.
 */
export function findRoute(routes: readonly Route[], method: string, path: string): RouteMatch {
  const fitting = routes.flatMap((candidate) => {
    const name = matchPath(candidate.path, path);
    return name === null ? [] : [{ route: candidate, name }];
  });
  const literal = Math.max(...fitting.map(({ route }) => literalLength(route.path)));
  const best = fitting.filter(({ route }) => literalLength(route.path) === literal);
  if (best.length === 0) {
    const paths = [...new Set(routes.map((candidate) => candidate.path))].join(', ');
    throw new HttpError(404, `there is nothing at ${shown(path)}; the paths are ${paths}`);
  }
  const wanted = method === 'HEAD' ? 'GET' : method;
  const match = best.find(({ route }) => route.method === wanted);
  if (match !== undefined) return match;
  const allow = allowed(best.map(({ route }) => route.method));
  throw new HttpError(405, `${shown(path)} takes ${allow}, not ${shown(method)}`, { headers: { allow } });
}

/** Methods of the path for an `Allow` header; null where there is no such path. */
export function allowedMethods(routes: readonly Route[], path: string): string | null {
  try {
    findRoute(routes, 'OPTIONS', path);
  } catch (error) {
    if (error instanceof HttpError && error.status === 405) return error.headers.allow ?? null;
  }
  return null;
}

function allowed(methods: readonly Method[]): string {
  return [...(methods.includes('GET') ? ['HEAD'] : []), 'OPTIONS', ...methods].sort().join(', ');
}

function matchPath(pattern: string, path: string): string | null {
  const [before = '', after] = pattern.split(/\{\w+\}/);
  if (after === undefined) return path === pattern ? '' : null;
  if (!path.startsWith(before) || !path.endsWith(after)) return null;
  const name = path.slice(before.length, path.length - after.length);
  return path.length > before.length + after.length && name !== '' ? name : null;
}

function literalLength(pattern: string): number {
  return pattern.replace(/\{\w+\}/, '').length;
}

function shown(text: string): string {
  return JSON.stringify(text.length > 200 ? `${text.slice(0, 200)}…` : text);
}
