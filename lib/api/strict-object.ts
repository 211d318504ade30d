import { z } from 'zod';
import { nearestName } from '../flow/nearest-name.ts';

/** An object that refuses fields it does not know, with the nearest that it does. */
export function strictObject<S extends z.ZodRawShape>(shape: S): z.ZodObject<S, z.core.$strict> {
  const known = Object.keys(shape);
  return z.strictObject(shape, {
    error: (issue) =>
      issue.code === 'unrecognized_keys' ? issue.keys.map((key) => refuse(key, known)).join('; ') : undefined,
  });
}

function refuse(key: string, known: readonly string[]): string {
  const shown = JSON.stringify(key.length > 100 ? `${key.slice(0, 100)}…` : key);
  if (known.length === 0) return `unknown field ${shown}; none is expected here`;
  const near = nearestName(key, known);
  return `unknown field ${shown}${near === null ? '' : `, did you mean "${near}"?`}; known fields: ${known.join(', ')}`;
}
