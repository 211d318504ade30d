import type { SelectStmt } from 'libpg-query';
import { closingBracket, type SourceText, tokenIndexAt, tokenIs } from './source-text.ts';
import { builtinName, nodesUnder, type TreeObject } from './tree.ts';

/** An expression whose value is the time of the run. */
export interface NowCall {
  readonly node: TreeObject;
  /** As it is written: `now()`, `current_date`. */
  readonly name: string;
  /** The type that it has, with its precision: what the grid time has to be cast to. */
  readonly type: string;
  readonly start: number;
  readonly end: number;
}

const NOW_FUNCTIONS = ['now', 'transaction_timestamp'];

const TIMESTAMPTZ = 'timestamp with time zone';

const VALUE_TYPES: Readonly<Record<string, (precision: string) => string>> = {
  current_timestamp: (precision) => `timestamp${precision} with time zone`,
  localtimestamp: (precision) => `timestamp${precision}`,
  current_time: (precision) => `time${precision} with time zone`,
  localtime: (precision) => `time${precision}`,
  current_date: () => 'date',
};

/** Every expression of the query that reads the clock and stands still within a run. */
export function nowCalls(source: SourceText, select: SelectStmt): NowCall[] {
  const found: NowCall[] = [];
  for (const { kind, node } of nodesUnder({ SelectStmt: select })) {
    if (kind === 'FuncCall') {
      const name = builtinName(node);
      if (name !== null && NOW_FUNCTIONS.includes(name) && node['args'] === undefined) {
        found.push({ node, name: `${name}()`, type: TIMESTAMPTZ, ...callRange(source, node) });
      }
    } else if (kind === 'SQLValueFunction') {
      const name = String(node['op'])
        .replace(/^SVFOP_/, '')
        .replace(/_N$/, '')
        .toLowerCase();
      const type = VALUE_TYPES[name];
      const precision = typeof node['typmod'] === 'number' && node['typmod'] >= 0 ? `(${node['typmod']})` : '';
      if (type !== undefined) found.push({ node, name, type: type(precision), ...valueRange(source, node) });
    }
  }
  return found;
}

function callRange(source: SourceText, node: TreeObject): { start: number; end: number } {
  const first = tokenIndexAt(source, numberOr(node['location']));
  let at = first;
  while (!tokenIs(source, at, '(')) at++;
  return { start: source.tokens[first]?.start ?? 0, end: source.tokens[closingBracket(source, at)]?.end ?? 0 };
}

function valueRange(source: SourceText, node: TreeObject): { start: number; end: number } {
  const first = tokenIndexAt(source, numberOr(node['location']));
  const precise = String(node['op']).endsWith('_N');
  const last = precise ? closingBracket(source, first + 1) : first;
  return { start: source.tokens[first]?.start ?? 0, end: source.tokens[last]?.end ?? 0 };
}

function numberOr(value: unknown): number {
  return typeof value === 'number' ? value : 0;
}
