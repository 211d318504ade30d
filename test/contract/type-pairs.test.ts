import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { holdsEvery, TYPE_PAIRS, type TypePair } from '../../lib/flow/type-pairs.ts';
import { createTestDatabase, type TestDatabase, testServers } from '../support/database.ts';

/** Values at the ends of each type, as literals of it. */
const EXTREMES: Readonly<Record<string, readonly string[]>> = {
  smallint: ['-32768', '32767', '0'],
  integer: ['-2147483648', '2147483647', '16777217'],
  bigint: ['-9223372036854775808', '9223372036854775807', '9007199254740993'],
  real: ['-3.4028235e38', '1e-45', '0.1', '-0', 'NaN', 'Infinity'],
  numeric: [`-${'9'.repeat(400)}.${'9'.repeat(300)}`, 'NaN', 'Infinity', '1.00'],
  'numeric(6,2)': ['-9999.99', '9999.99', '0.10', 'NaN'],
  'numeric(3,-2)': ['-99900', '99900'],
  text: ['', ' a ', 'ü🌊'.repeat(400)],
  'character varying': ['', ' a ', 'ü🌊'.repeat(400)],
  'character varying(3)': ['', 'a  ', 'ü🌊x'],
  bpchar: ['', 'a  b'],
  'character(3)': ['', 'a', ' ü🌊'],
  'bit(3)': ['101'],
  'bit varying': ['', '1'.repeat(100)],
  'bit varying(3)': ['', '10', '101'],
  date: ['4713-01-01 BC', '5874897-12-31', 'infinity'],
  'time without time zone': ['00:00:00', '23:59:59.999999', '24:00:00'],
  'time(3) without time zone': ['00:00:00.001', '23:59:59.999'],
  'time with time zone': ['00:00:00.000001+15:59:59', '24:00:00-15:59:59'],
  'time(3) with time zone': ['00:00:00.001+15:59', '24:00:00-15:59'],
  'timestamp without time zone': ['4714-11-24 00:00:00 BC', '294276-12-31 23:59:59.999999', '-infinity'],
  'timestamp(3) without time zone': ['4714-11-24 00:00:00 BC', '2000-01-01 00:00:00.001'],
  'timestamp with time zone': ['4714-11-24 00:00:00+00 BC', '294276-12-31 23:59:59.999999+00', 'infinity'],
  'timestamp(3) with time zone': ['2000-01-01 00:00:00.001+00', 'infinity'],
  interval: ['-178000000 years', '178000000 years', '0.000001 seconds', '1 month -30 days 24:00:00'],
  'interval(3)': ['0.001 seconds', '-178000000 years'],
  'double precision': ['1.7976931348623157e308', '5e-324', '0.1'],
  'integer[]': ['{-2147483648,NULL,2147483647}', '{}', '[0:1]={1,2}', '{{1},{2}}'],
  'numeric(6,2)[]': ['{9999.99,0.10}'],
  'character varying(3)[]': ['{ü🌊x,"a  "}'],
  'real[]': ['{0.1,NaN}'],
};

/** Types with and without modifiers, which meet both sides of each condition. */
const TYPES = [
  ...Object.keys(EXTREMES),
  'numeric(7,2)',
  'numeric(7,3)',
  'numeric(8,3)',
  'numeric(5,0)',
  'numeric(4,0)',
  'numeric(10,0)',
  'numeric(9,0)',
  'numeric(19,0)',
  'numeric(18,0)',
  'numeric(22,3)',
  'character varying(2)',
  'character varying(5)',
  'character(5)',
  'character(2)',
  'bit varying(2)',
  'bit varying(5)',
  'time(2) without time zone',
  'time(6) with time zone',
  'timestamp(2) without time zone',
  'timestamp(6) without time zone',
  'timestamp(6) with time zone',
  'interval(6)',
  'bigint[]',
  'numeric(8,3)[]',
  'text[]',
  'double precision[]',
];

const PAGE = readFileSync(fileURLToPath(new URL('../../docs/flows.md', import.meta.url)), 'utf8');

/** The rows of the table of types. */
function shownPairs(page: string): string[] {
  const [, section = ''] = page.split('### Types that fit');
  const rows = (section.split('\n## ')[0] ?? '').split('\n').filter((line) => line.startsWith('| `'));
  return rows.map((row) => [...row.matchAll(/`([^`]+)`/g)].map(([, text]) => text).join(' | '));
}

const written = ({ from, to, condition }: TypePair) =>
  [from, to, ...(condition === null ? [] : [condition])].join(' | ');

describe('The table of types', () => {
  it('is the one on the page', () => {
    expect(shownPairs(PAGE)).toEqual(TYPE_PAIRS.map(written));
  });

  it('would be told from another one (control)', () => {
    expect(shownPairs(PAGE.replace("p' - s' >= 19", "p' - s' >= 18"))).not.toEqual(TYPE_PAIRS.map(written));
  });

  it.each([
    ['date', 'timestamp without time zone'],
    ['timestamp without time zone', 'timestamp with time zone'],
    ['timestamp with time zone', 'timestamp without time zone'],
    ['integer', 'text'],
    ['integer', 'real'],
    ['bigint', 'double precision'],
    ['bigint', 'numeric(18,0)'],
    ['numeric(6,2)', 'numeric(7,3)[]'],
    ['numeric', 'double precision'],
    ['text', 'character varying(10)'],
    ['character varying(3)', 'character(5)'],
    ['json', 'jsonb'],
    ['public.mood', 'text'],
    ['integer[]', 'bigint'],
  ])('has no %s in a %s', (given, own) => {
    expect(holdsEvery(own, given)).toBe(false);
  });
});

for (const server of testServers()) {
  describe(`Values on ${server.name}`, () => {
    let database: TestDatabase;
    let sql: pg.Client;
    beforeAll(async () => {
      database = await createTestDatabase(server.url);
      sql = new pg.Client({ connectionString: database.url });
      await sql.connect();
    });
    afterAll(async () => {
      await sql.end();
      await database.drop();
    });

    /** Whether every extreme comes back from the other type as it was, bit for bit. An error counts as lost. */
    async function survives(from: string, to: string): Promise<boolean> {
      for (const text of EXTREMES[from] ?? []) {
        const value = `CAST(${pg.escapeLiteral(text)} AS ${from})`;
        try {
          await sql.query('BEGIN; DROP TABLE IF EXISTS held');
          await sql.query(`CREATE TEMPORARY TABLE held (v ${to}) ON COMMIT DROP`);
          await sql.query(`INSERT INTO held SELECT ${value}`);
          const { rows } = await sql.query(
            `SELECT ROW(CAST(v AS ${from}))::record *= ROW(${value})::record AS same FROM held`,
          );
          if (rows[0]?.same !== true) return false;
        } catch {
          return false;
        } finally {
          await sql.query('ROLLBACK');
        }
      }
      return true;
    }

    /** As a plan converts it: without a word in the query. */
    async function convertsImplicitly(from: string, to: string): Promise<boolean> {
      const [value = ''] = EXTREMES[from] ?? [];
      const { rows } = await sql.query(
        `SELECT pg_typeof(v)::text AS type FROM (SELECT CAST(NULL AS ${to}) WHERE FALSE UNION ALL SELECT CAST(${pg.escapeLiteral(value)} AS ${from})) AS q (v)`,
      );
      return rows[0]?.type === to.replace(/\([\d,-]+\)/, '');
    }

    const pairs = Object.keys(EXTREMES).flatMap((from) =>
      TYPES.filter((to) => to !== from && holdsEvery(to, from)).map((to) => [from, to] as const),
    );

    it.each(pairs)('of %s are values of %s', async (from, to) => {
      expect(await survives(from, to)).toBe(true);
      expect(await convertsImplicitly(from, to)).toBe(true);
    });

    it('are tried for every pair of the table', () => {
      const base = (type: string) => type.replace(/\([\d,-]+\)/, '');
      const tried = new Set(pairs.map(([from, to]) => `${base(from)} | ${base(to)}`));
      expect(TYPE_PAIRS.map(({ from, to }) => `${from} | ${to}`).filter((pair) => !tried.has(pair))).toEqual([]);
    });

    it.each([
      ['integer', 'real'],
      ['integer', 'smallint'],
      ['integer', 'numeric(9,0)'],
      ['bigint', 'double precision'],
      ['bigint', 'numeric(18,0)'],
      ['smallint', 'numeric(4,0)'],
      ['numeric', 'double precision'],
      ['numeric(6,2)', 'numeric(5,2)'],
      ['numeric(6,2)', 'numeric(7,3)[]'],
      ['numeric(6,2)', 'numeric(7,1)'],
      ['character varying(3)', 'character varying(2)'],
      ['character varying(3)', 'character(5)'],
      ['character(3)', 'character(2)'],
      ['bit varying(3)', 'bit varying(2)'],
      ['time(3) without time zone', 'time(2) without time zone'],
      ['timestamp without time zone', 'timestamp(2) without time zone'],
      ['interval', 'interval(3)'],
      ['date', 'timestamp without time zone'],
      ['double precision', 'real'],
      ['integer[]', 'smallint[]'],
    ])('of %s are lost in a %s, which is no pair (control)', async (from, to) => {
      expect(holdsEvery(to, from)).toBe(false);
      expect(await survives(from, to)).toBe(false);
    });
  });
}
