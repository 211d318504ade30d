import type { CompiledQuery, FlowDefinition, FlowOptions, TableName } from '../../lib/flow/definition.ts';
import { DEFAULT_OPTIONS } from '../../lib/flow/options.ts';
import { HOUR, instant } from '../../lib/window/instant.ts';

/** Definitions as the compiler would make them, written by hand. */

export const OPTIONS: FlowOptions = {
  ...DEFAULT_OPTIONS,
  connection: 'default',
  timeZone: 'UTC',
  mergeDistance: 3,
  maxRanges: 20,
  maxWindows: 20,
  order: 'newest',
};

type Given = Pick<FlowDefinition, 'name' | 'sink' | 'compiled'> & Partial<FlowDefinition>;

/** `sinkColumns` is left empty: nothing that runs a plan reads it. */
export function definitionOf(given: Given): FlowDefinition {
  return {
    query: 'hand-made',
    comment: null,
    expireAfter: null,
    evalInterval: null,
    options: OPTIONS,
    sinkColumns: [],
    updateAt: !given.compiled.columns.includes('update_at'),
    placeholder: false,
    generation: 1n,
    ...given,
  };
}

/** Count and sum by hour and key over a source (time timestamptz, key text, value bigint). */
export function hourlyDefinition(name: string, source: TableName, sink: TableName): FlowDefinition {
  const from = `"${source.schema}"."${source.table}"`;
  const compiled: CompiledQuery = {
    compiler: 1,
    text: [
      `SELECT date_trunc('hour', s.time) AS label, s.key, count(*) AS count, sum(s.value)::bigint AS sum FROM (SELECT * FROM ${from} WHERE `,
      ') AS s GROUP BY 1, 2 -- by hour',
    ],
    holes: [{ kind: 'filter', column: `"${source.table}"."time"`, type: 'timestamptz' }],
    window: {
      spec: { kind: 'fixed', size: HOUR, origin: instant(0n) },
      column: 'label',
      expression: ["date_trunc('hour', ", ')'],
      argumentType: 'timestamptz',
    },
    sources: [{ ...source, timeColumn: 'time' }],
    columns: ['label', 'key', 'count', 'sum'],
    keys: ['label', 'key'],
    history: null,
  };
  return definitionOf({ name, sink, compiled });
}
