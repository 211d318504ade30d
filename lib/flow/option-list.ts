import type { FlowOptions } from './definition.ts';
import { lexicalError } from './lexical-error.ts';
import { checkOptionName, type OptionValue, readOption } from './options.ts';
import type { TokenReader } from './token-reader.ts';

/** `(option = value, …)`, each option once. Throws `invalid_statement` and `invalid_option` with the position. */
export function readOptionValues(reader: TokenReader, example: string): Partial<FlowOptions> {
  return readList(reader, example, (name) => {
    reader.expectSymbol('=', `= and a value for option ${name}`);
    const value = reader.next;
    return reader.checked(value, () => readOption(name, readValue(reader, name)));
  });
}

/** `(option, …)`: the defaults of these. */
export function readOptionNames(reader: TokenReader, example: string): Partial<FlowOptions> {
  return readList(reader, example, (name) => readOption(name, null));
}

function readList(
  reader: TokenReader,
  example: string,
  readNext: (name: string) => Partial<FlowOptions>,
): Partial<FlowOptions> {
  reader.expectSymbol('(', `( and options, such as ${example}`);
  const options: Partial<FlowOptions> = {};
  const seen = new Set<string>();
  do {
    const name = reader.name('the name of an option');
    reader.checked(name, () => checkOptionName(name.value));
    if (seen.has(name.value)) throw lexicalError(reader.text, name.start, `option ${name.value} is given twice`);
    seen.add(name.value);
    Object.assign(options, readNext(name.value));
  } while (reader.takeSymbol(','));
  reader.expectSymbol(')', ', and another option, or )');
  return options;
}

/** A word without quotes counts as a string, as in `order = oldest`. */
function readValue(reader: TokenReader, option: string): OptionValue {
  if (reader.takeSymbol('(')) return readNames(reader, option);
  const negative = reader.takeSymbol('-');
  if (!negative && reader.next.kind !== 'number' && reader.next.kind !== 'symbol') return readText(reader, option);
  if (reader.next.kind !== 'number') throw reader.unexpected(`a value for option ${option}`);
  const number = Number(reader.take().value.replaceAll('_', ''));
  return negative ? -number : number;
}

function readNames(reader: TokenReader, option: string): string[] {
  const values: string[] = [];
  do values.push(readText(reader, option));
  while (reader.takeSymbol(','));
  reader.expectSymbol(')', ', and another name, or )');
  return values;
}

function readText(reader: TokenReader, option: string): string {
  return reader.next.kind === 'string' ? reader.take().value : reader.name(`a value for option ${option}`).value;
}
