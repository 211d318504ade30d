import { SluiceError } from '../errors.ts';
import { isZone } from '../window/zone-offsets.ts';

/**
 * A zone's name as JavaScript and PostgreSQL both take it. Names without a slash, such as `CET` or `EST`, are refused: where
 * PostgreSQL reads them as abbreviations they stand for a fixed offset, not for the zone of that name. Throws `invalid_option`.
 */
export function readTimeZone(name: string): string {
  if (isUtc(name)) return 'UTC';
  if (/^[A-Za-z][A-Za-z0-9_+-]*(?:\/[A-Za-z0-9_+-]+)+$/.test(name) && isZone(name)) return name;
  throw new SluiceError(
    'invalid_option',
    `${JSON.stringify(name.slice(0, 64))} is not a time zone that can be used. Give a name of the IANA time-zone database with its area, such as Europe/Berlin, or UTC.`,
  );
}

/** The names of UTC itself. */
export function isUtc(name: string): boolean {
  return /^(?:Etc\/)?(?:UTC|GMT|UCT|Zulu|Universal)$/i.test(name);
}
