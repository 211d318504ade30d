import { type ErrorDetails, SluiceError } from '../errors.ts';

/** 1-based position in characters (Unicode code points, as PostgreSQL counts) of a UTF-16 index. */
export function positionOf(text: string, index: number): number {
  let position = 1;
  for (let at = 0; at < index; position++) at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
  return position;
}

/**
 * The same error with its position counted from the start of a longer text, in which `characters` come before the text that
 * the position was counted in. For an error of a query that came inside a statement.
 */
export function shiftPosition(error: unknown, characters: number): unknown {
  if (!(error instanceof SluiceError) || error.details.position === undefined) return error;
  return withDetails(error, { ...error.details, position: error.details.position + characters });
}

/** The same error without its position, which counts in a text that the user did not send. */
export function withoutPosition(error: unknown): unknown {
  if (!(error instanceof SluiceError)) return error;
  const { position: _, ...details } = error.details;
  return withDetails(error, details);
}

function withDetails(error: SluiceError, details: ErrorDetails): SluiceError {
  return new SluiceError(error.code, error.message, { retryable: error.retryable, cause: error.cause, details });
}
