import type { CompiledQuery, FlowDefinition, FlowOptions, TableName } from '../../lib/flow/definition.ts';
import { DEFAULT_OPTIONS } from '../../lib/flow/options.ts';
import type { Frontend, PlanResult } from '../../lib/frontend/frontend.ts';
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

/** `sinkColumns` have the names of the query's columns, and no type that a table has. */
export function definitionOf(given: Given): FlowDefinition {
  return {
    query: 'hand-made',
    comment: null,
    expireAfter: null,
    evalInterval: null,
    options: OPTIONS,
    sinkColumns: given.compiled.columns.map((name) => ({ name, type: 'not looked up' })),
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
    beneath: [],
    columns: ['label', 'key', 'count', 'sum'],
    keys: ['label', 'key'],
    history: null,
  };
  const types = ['timestamp with time zone', 'text', 'bigint', 'bigint'];
  const sinkColumns = compiled.columns.map((column, index) => ({ name: column, type: types[index] ?? '' }));
  return definitionOf({ name, sink, compiled, sinkColumns });
}

/** The definition as if it had been created over its sink as the sink is now. */
export async function overItsSink(frontend: Frontend, definition: FlowDefinition): Promise<FlowDefinition> {
  const types = new Map((await frontend.describeSink(definition.sink))?.columns.map(({ name, type }) => [name, type]));
  const sinkColumns = definition.sinkColumns.map(({ name, type }) => ({ name, type: types.get(name) ?? type }));
  return { ...definition, sinkColumns };
}

export type RowCounts = Pick<PlanResult, 'inserted' | 'updated' | 'deleted'>;

export function countsOf({ inserted, updated, deleted }: PlanResult): RowCounts {
  return { inserted, updated, deleted };
}
