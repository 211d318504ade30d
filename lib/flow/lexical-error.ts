import { SluiceError } from '../errors.ts';
import { positionOf } from './text-position.ts';

/** `invalid_statement` at a UTF-16 index of the statement. */
export function lexicalError(text: string, index: number, message: string): SluiceError {
  return new SluiceError('invalid_statement', message, { details: { position: positionOf(text, index) } });
}
