import type { z } from 'zod';
import { SluiceError } from '../errors.ts';

/** More findings than this in one answer help nobody. */
const MOST_PROBLEMS = 10;

/** What a schema makes of a value. Throws `invalid_request` that names each field which does not fit, by its path. */
export function checkInput<S extends z.ZodType>(
  schema: S,
  value: unknown,
  where: 'body' | 'query' | 'detail',
): z.output<S> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const problems = result.error.issues.slice(0, MOST_PROBLEMS).map((issue) => describeIssue(issue, where));
  const more = result.error.issues.length - problems.length;
  throw new SluiceError('invalid_request', `${problems.join('; ')}${more > 0 ? `; and ${more} more` : ''}`, {
    details: { problems },
  });
}

function describeIssue(issue: z.core.$ZodIssue, where: string): string {
  const path = pathOf(where, issue.path);
  switch (issue.code) {
    case 'invalid_type':
      return `${path}: ${issue.message.replace(/^Invalid input: /, '')}`;
    case 'invalid_union':
      return `${path}: ${issue.message === 'Invalid input' ? unionMessage(issue) : issue.message}`;
    default:
      return `${path}: ${issue.message}`;
  }
}

/** The findings of the member that got furthest: the one whose first finding lies deepest. */
function unionMessage(issue: z.core.$ZodIssueInvalidUnion): string {
  const expected = issue.errors.map((member) =>
    member[0]?.message.replace(/^Invalid input: expected ([^,]+),.*$/, '$1'),
  );
  return `expected ${[...new Set(expected)].join(' or ')}`;
}

function pathOf(where: string, path: readonly PropertyKey[]): string {
  return path.reduce<string>((text, key) => {
    if (typeof key === 'number') return `${text}[${key}]`;
    const name = String(key);
    return /^[A-Za-z_$][\w$]*$/.test(name) ? `${text}.${name}` : `${text}[${quote(name)}]`;
  }, where);
}

function quote(name: string): string {
  return JSON.stringify(name.length > 100 ? `${name.slice(0, 100)}…` : name);
}
