import { describe, expect, it } from 'vitest';
import type { SinkTable } from '../../../lib/frontend/frontend.ts';
import { sinkProblems } from '../../../lib/sql/sink-match.ts';

const QUERY = [
  { name: 'hour', type: 'timestamp with time zone' },
  { name: 'Kind', type: 'text' },
  { name: 'mean', type: 'numeric(10,2)' },
];
const KEYS = ['hour', 'Kind'];

const column = (name: string, type: string, notNull = false, hasDefault = false) => ({
  name,
  type,
  notNull,
  hasDefault,
  generated: false,
});

function sink(changes: Partial<SinkTable> = {}): SinkTable {
  return {
    schema: 'public',
    table: 'sink',
    identity: '1',
    columns: QUERY.map(({ name, type }) => column(name, type)),
    uniqueKeys: [KEYS],
    ...changes,
  };
}

describe('an existing sink', () => {
  it('fits with the same columns and key, in any order', () => {
    const columns = sink().columns.toReversed();
    expect(sinkProblems(sink({ columns, uniqueKeys: [['x'], ['Kind', 'hour']] }), QUERY, KEYS)).toEqual([]);
  });

  it('fits with further columns that fill themselves, and with an unlimited type', () => {
    const columns = [
      column('hour', 'timestamp with time zone'),
      column('Kind', 'text'),
      column('mean', 'numeric'),
      column('update_at', 'timestamp with time zone', true),
      column('note', 'text'),
      column('id', 'bigint', true, true),
    ];
    expect(sinkProblems(sink({ columns }), QUERY, KEYS)).toEqual([]);
  });

  it('is told everything that does not fit at once', () => {
    const columns = [
      column('hour', 'timestamp without time zone'),
      column('kind', 'text'),
      column('mean', 'double precision'),
      column('owner', 'text', true),
    ];
    expect(sinkProblems(sink({ columns, uniqueKeys: [['hour']] }), QUERY, KEYS)).toEqual([
      'column "hour" is of type timestamp without time zone, the query gives timestamp with time zone',
      'column "Kind" of type text is missing',
      'column "mean" is of type double precision, the query gives numeric(10,2)',
      'column "owner" is not in the query and takes neither NULL nor a default',
      'it has no unique index NULLS NOT DISTINCT on exactly ("hour", "Kind")',
    ]);
  });

  it('needs no key for a query without one', () => {
    expect(sinkProblems(sink({ uniqueKeys: [] }), QUERY, [])).toEqual([]);
  });
});
