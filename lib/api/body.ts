import { isUtf8 } from 'node:buffer';
import { HttpError } from './http.ts';

/** Of one request. */
export const BODY_LIMIT_BYTES = 256 * 1024;

const JSON_TYPE = /^application\/(?:[a-z0-9.+-]+\+)?json\s*(?:;|$)/i;

/**
 * The JSON value of a body; `{}` for none. The size is looked at before the bytes are. Text that is not UTF-8 is refused, as
 * is JSON of another media type: a web page may send `text/plain` to any address without asking.
 */
export function readJsonBody(body: Buffer, contentType: string | undefined): unknown {
  if (body.length > BODY_LIMIT_BYTES) {
    throw new HttpError(
      413,
      `the body has ${body.length} bytes; at most ${BODY_LIMIT_BYTES} are taken, so split it into several requests`,
    );
  }
  if (body.length === 0) return {};
  if (contentType === undefined || !JSON_TYPE.test(contentType)) {
    const given =
      contentType === undefined
        ? 'without a content-type'
        : `with content-type ${JSON.stringify(contentType.slice(0, 100))}`;
    throw new HttpError(415, `the body came ${given}; send JSON with the header "content-type: application/json"`);
  }
  const parsed = parse(body);
  if ('value' in parsed) return parsed.value;
  throw new HttpError(400, `the body ${parsed.problem}`);
}

/** No error of the decoder or the parser is passed on: their messages quote the body, and errors are logged. */
function parse(body: Buffer): { readonly value: unknown } | { readonly problem: string } {
  if (!isUtf8(body)) return { problem: 'is not UTF-8; send JSON in UTF-8' };
  try {
    return { value: JSON.parse(body.toString('utf8')) as unknown };
  } catch (error) {
    return { problem: `is not JSON: ${placeOf(error)}; send one JSON object` };
  }
}

function placeOf(error: unknown): string {
  const message = error instanceof Error ? error.message : '';
  const place = /position \d+(?: \(line \d+ column \d+\))?/.exec(message)?.[0];
  return place === undefined
    ? 'it ends too early or holds a stray character'
    : `there is a stray character at ${place}`;
}
