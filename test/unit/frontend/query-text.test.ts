import { describe, expect, it } from 'vitest';
import type { CompiledQuery } from '../../../lib/flow/definition.ts';
import { plannedRanges, queryText } from '../../../lib/frontend/postgres/query-text.ts';
import { HOUR, INSTANT_MAX, INSTANT_MIN, instant } from '../../../lib/window/instant.ts';
import { ALL_TIME } from '../../../lib/window/time-range.ts';

const query = (
  holes: CompiledQuery['holes'],
  argumentType: 'timestamptz' | 'timestamp' = 'timestamptz',
): CompiledQuery => ({
  compiler: 1,
  text: ['a ', ...holes.map(() => ' b')],
  holes,
  window: {
    spec: { kind: 'fixed', size: HOUR, origin: instant(0n) },
    column: 'label',
    expression: ['f(', ')'],
    argumentType,
  },
  sources: [],
  beneath: [],
  columns: ['label'],
  keys: ['label'],
  history: null,
});
const hour = { start: instant(0n), end: instant(HOUR) };
const filled = (type: 'timestamptz' | 'timestamp' | 'date', argumentType?: 'timestamptz' | 'timestamp') =>
  queryText(query([{ kind: 'filter', column: 't.x', type }], argumentType), { ranges: [hour], gridTime: null });

describe('queryText', () => {
  it('fills a filter with half-open conditions in the type of the column', () => {
    expect(filled('timestamptz')).toBe(
      "a ((t.x >= '1970-01-01 00:00:00.000000+00'::pg_catalog.timestamptz AND t.x < '1970-01-01 01:00:00.000000+00'::pg_catalog.timestamptz)) b\n",
    );
    expect(filled('timestamp')).toContain("t.x < '1970-01-01 01:00:00.000000'::pg_catalog.timestamp)");
  });

  it('compares a date column with the type that the window expression takes', () => {
    expect(filled('date', 'timestamptz')).toContain('pg_catalog.timestamptz');
    expect(filled('date', 'timestamp')).toContain("'::pg_catalog.timestamp)");
  });

  it('leaves out infinite times where there is no bound, takes any of several ranges, and none of none', () => {
    const text = (ranges: Parameters<typeof queryText>[1]['ranges']) =>
      queryText(query([{ kind: 'filter', column: 'x', type: 'timestamp' }]), { ranges, gridTime: null });
    expect(text([ALL_TIME])).toBe(
      "a ((x > '-infinity'::pg_catalog.timestamp AND x < 'infinity'::pg_catalog.timestamp)) b\n",
    );
    expect(
      text([
        { start: INSTANT_MIN, end: hour.start },
        { start: hour.end, end: INSTANT_MAX },
      ]),
    ).toContain(') OR (');
    expect(text([])).toBe('a FALSE b\n');
    expect(text(null)).toBe('a TRUE b\n');
  });

  it('binds now() to the grid time, and leaves it to the transaction where there is none', () => {
    const text = (gridTime: Parameters<typeof queryText>[1]['gridTime']) =>
      queryText(query([{ kind: 'now' }]), { ranges: null, gridTime });
    expect(text(instant(1n))).toBe("a '1970-01-01 00:00:00.000001+00'::pg_catalog.timestamptz b\n");
    expect(text(null)).toBe('a pg_catalog.now() b\n');
  });
});

describe('plannedRanges', () => {
  it('takes no ranges for everything where there are windows, and for no filter where there are none', () => {
    const windowed = query([]);
    expect(plannedRanges(windowed, [])).toEqual([ALL_TIME]);
    expect(plannedRanges(windowed, [hour])).toEqual([hour]);
    expect(plannedRanges({ ...windowed, window: null }, [])).toBeNull();
    expect(() => plannedRanges({ ...windowed, window: null }, [hour])).toThrow(
      expect.objectContaining({ code: 'internal' }),
    );
  });
});
