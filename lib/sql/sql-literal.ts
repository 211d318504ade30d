import type { TimeColumnType } from '../flow/definition.ts';
import type { Instant, Micros } from '../window/instant.ts';
import { formatInstant } from '../window/rfc3339.ts';

export function quoteIdentifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

export function quoteString(text: string): string {
  const quoted = `'${text.replaceAll("'", "''")}'`;
  return text.includes('\\') ? `E${quoted.replaceAll('\\', '\\\\')}` : quoted;
}

export function intervalLiteral(length: Micros): string {
  return `'${length} microseconds'::pg_catalog.interval`;
}

/** Of years 0001 to 9999. */
export function instantLiteral(t: Instant, type: Exclude<TimeColumnType, 'date'>): string {
  const text = formatInstant(t).replace('T', ' ').replace('Z', '');
  return `'${text}${type === 'timestamptz' ? '+00' : ''}'::pg_catalog.${type}`;
}
