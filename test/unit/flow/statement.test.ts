import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { SluiceError } from '../../../lib/errors.ts';
import type { FlowInput } from '../../../lib/flow/flow-input.ts';
import { DEFAULT_OPTIONS } from '../../../lib/flow/options.ts';
import { parseStatement, renderCreateFlow } from '../../../lib/flow/statement.ts';
import { shiftPosition } from '../../../lib/flow/text-position.ts';
import { DAY, HOUR, instant, MINUTE } from '../../../lib/window/instant.ts';

function refusal(sql: string): SluiceError {
  try {
    parseStatement(sql);
  } catch (error) {
    return error as SluiceError;
  }
  return expect.fail(`accepted: ${sql}`);
}

const PLAIN: FlowInput = {
  name: 'a',
  sink: { schema: 'public', table: 'b' },
  query: 'SELECT 1',
  expireAfter: null,
  evalInterval: null,
  comment: null,
  options: DEFAULT_OPTIONS,
};

function created(sql: string): FlowInput {
  const statement = parseStatement(sql);
  if (statement.kind !== 'create_flow') return expect.fail(statement.kind);
  return statement.input;
}

describe('CREATE FLOW', () => {
  it.each<[string, Partial<FlowInput>]>([
    ['CREATE FLOW a SINK TO b AS SELECT 1', {}],
    ['create /* c */ flow A\nsink to B as select 1 ;\n; ', { query: 'select 1' }],
    ['CREATE FLOW "A" SINK TO "S"."B" AS SELECT 1', { name: 'A', sink: { schema: 'S', table: 'B' } }],
    ['CREATE FLOW "as" SINK TO "with" AS SELECT 1', { name: 'as', sink: { schema: 'public', table: 'with' } }],
    ["CREATE FLOW a SINK TO b EXPIRE AFTER '1 day' AS SELECT 1", { expireAfter: DAY }],
    ["CREATE FLOW a SINK TO b EXPIRE AFTER INTERVAL '1 h' AS SELECT 1", { expireAfter: HOUR }],
    ["CREATE FLOW a SINK TO b EVAL INTERVAL '5 min' AS SELECT 1", { evalInterval: 5n * MINUTE }],
    ["CREATE FLOW a SINK TO b EVAL INTERVAL INTERVAL '5 min' AS SELECT 1", { evalInterval: 5n * MINUTE }],
    ["CREATE FLOW a SINK TO b COMMENT $$it's$$ AS SELECT 1", { comment: "it's" }],
    [
      "CREATE FLOW a SINK TO b WITH (connection = 'c', \"time_zone\" = 'Europe/Berlin', MERGE_DISTANCE = 0, max_ranges = 1, max_windows = 1_000, order = 'oldest') AS SELECT 1",
      {
        options: {
          ...DEFAULT_OPTIONS,
          connection: 'c',
          timeZone: 'Europe/Berlin',
          mergeDistance: 0,
          maxRanges: 1,
          maxWindows: 1000,
          order: 'oldest',
        },
      },
    ],
    ["CREATE FLOW a SINK TO b WITH (time_zone = 'etc/utc') AS SELECT 1", {}],
    ['CREATE FLOW a SINK TO b AS(SELECT 1)', { query: '(SELECT 1)' }],
    ['CREATE FLOW a SINK TO b AS U&"x" $1 \'', { query: 'U&"x" $1 \'' }],
    ['CREATE FLOW a SINK TO b AS SELECT 1 -- no more;', { query: 'SELECT 1 -- no more' }],
  ])('%s', (sql, expected) => {
    expect(created(sql)).toEqual({ ...PLAIN, ...expected });
  });

  it.each([
    ['CREATE FLOW a SINK TO b AS SELECT 1', 'create'],
    ['CREATE OR REPLACE FLOW a SINK TO b AS SELECT 1', 'or_replace'],
    ['CREATE FLOW IF NOT EXISTS a SINK TO b AS SELECT 1', 'if_not_exists'],
  ])('%s is a way to %s', (sql, mode) => {
    expect(parseStatement(sql)).toMatchObject({ kind: 'create_flow', mode });
  });

  it('says where the query begins, so that positions in it can be told in the whole statement', () => {
    const sql = 'CREATE FLOW "😀" SINK TO b AS \n /* ü */ SELECT nope';
    const statement = parseStatement(sql);
    if (statement.kind !== 'create_flow') return expect.fail();
    expect([...sql].slice(statement.queryOffset).join('')).toBe(statement.input.query);
    return undefined;
  });

  it.each<[string, RegExp, string]>([
    ['CREATE OR REPLACE FLOW IF NOT EXISTS a SINK TO b AS SELECT 1', /exclude each other/, 'IF NOT'],
    ['CREATE TABLE a (x int)', /expected FLOW/, 'TABLE'],
    ['CREATE FLOW SINK TO b AS SELECT 1', /expected SINK TO/, 'TO b'],
    ['CREATE FLOW a AS SELECT 1', /expected SINK TO/, 'AS'],
    ['CREATE FLOW a.b SINK TO b AS SELECT 1', /one part/, '.b'],
    ['CREATE FLOW a SINK TO b.c.d AS SELECT 1', /at most two parts/, '.d'],
    ["CREATE FLOW a SINK TO 'b' AS SELECT 1", /name of the sink/, "'b'"],
    ['CREATE FLOW "" SINK TO b AS SELECT 1', /is empty/, '""'],
    ['CREATE FLOW a SINK TO pg_catalog.b AS SELECT 1', /belongs to the database/, 'pg_catalog'],
    ['CREATE FLOW a SINK TO "information_schema".b AS SELECT 1', /belongs to the database/, '"info'],
    [`CREATE FLOW ${'ü'.repeat(32)} SINK TO b AS SELECT 1`, /64 bytes long.*at most 63/, 'üü'],
    [`CREATE FLOW a SINK TO ${'x'.repeat(64)} AS SELECT 1`, /at most 63/, 'xx'],
    [
      "CREATE FLOW ä SINK TO b COMMENT 'x' EXPIRE AFTER '1 h' AS SELECT 1",
      /EXPIRE AFTER is misplaced.*COMMENT/,
      'EXPIRE',
    ],
    [
      "CREATE FLOW a SINK TO b WITH (order = 'newest') EVAL INTERVAL '1 h' AS SELECT 1",
      /EVAL INTERVAL is misplaced/,
      'EVAL',
    ],
    ["CREATE FLOW a SINK TO b COMMENT 'x' COMMENT 'y' AS SELECT 1", /COMMENT is given twice/, "COMMENT 'y'"],
    ['CREATE FLOW a SINK TO b SINK TO c AS SELECT 1', /SINK TO is given twice/, 'SINK TO c'],
    ['CREATE FLOW a SINK TO b', /expected one of EXPIRE AFTER.*end of the statement/, ''],
    ['CREATE FLOW a SINK TO b RETENTION x AS SELECT 1', /expected one of/, 'RETENTION'],
    ['CREATE FLOW a SINK TO b EXPIRE AFTER 5 AS SELECT 1', /length of time in quotes/, '5'],
    ["CREATE FLOW a SINK TO b EXPIRE AFTER '0 s' AS SELECT 1", /greater than zero/, "'0 s'"],
    ["CREATE FLOW a SINK TO b EXPIRE AFTER '-1 day' AS SELECT 1", /greater than zero/, "'-1"],
    ["CREATE FLOW a SINK TO b EXPIRE AFTER '1 month' AS SELECT 1", /no fixed length/, "'1 m"],
    ["CREATE FLOW a SINK TO b EVAL INTERVAL '30 s' AS SELECT 1", /whole minutes.*EventBridge/, "'30"],
    ["CREATE FLOW a SINK TO b EVAL INTERVAL '90 s' AS SELECT 1", /whole minutes/, "'90"],
    ['CREATE FLOW a SINK TO b COMMENT x AS SELECT 1', /comment in quotes/, 'x AS'],
    [`CREATE FLOW a SINK TO b COMMENT '${'x'.repeat(4097)}' AS SELECT 1`, /at most 4096 bytes/, "'x"],
    ['CREATE FLOW a SINK TO b AS', /query is empty/, 'AS'],
    ['CREATE FLOW a SINK TO b AS ; ;', /query is empty/, 'AS'],
    [`CREATE FLOW a SINK TO b AS SELECT '${'x'.repeat(65_536)}'`, /at most 65536 bytes/, 'AS'],
    [`CREATE FLOW a SINK TO b AS SELECT '${'ü'.repeat(32_768)}'`, /at most 65536 bytes/, 'AS'],
    ['CREATE FLOW "a\0" SINK TO b AS SELECT 1', /NUL/, '\0'],
    ['CREATE FLOW a SINK TO b WITH () AS SELECT 1', /name of an option/, ')'],
    ["CREATE FLOW a SINK TO b WITH (order 'newest') AS SELECT 1", /expected =/, "'newest'"],
    ["CREATE FLOW a SINK TO b WITH (order = 'newest' AS SELECT 1", /expected ,/, 'AS'],
    [
      "CREATE FLOW a SINK TO b WITH (order = 'newest', order = 'oldest') AS SELECT 1",
      /order is given twice/,
      "order = 'o",
    ],
  ])('refuses %s', (sql, message, at) => {
    const error = refusal(sql);
    expect(error.message).toMatch(message);
    expect(error.code).toMatch(/^invalid_(statement|query)$/);
    expect(
      [...sql]
        .slice((error.details.position ?? 0) - 1)
        .join('')
        .slice(0, Math.max(at.length, 1)),
    ).toBe(at);
  });

  it.each<[string, RegExp, string]>([
    ['max_rnges = 3', /no option "max_rnges"\. Did you mean max_ranges\?/, 'max_rnges'],
    ["timezone = 'UTC'", /Did you mean time_zone\?/, 'timezone'],
    ['"Order" = \'newest\'', /Did you mean order\?/, '"Order"'],
    ['colour = 3', /no option "colour"\. Known options: connection/, 'colour'],
    ["max_ranges = '3'", /whole number from 1 to 100, without quotes; got "3"/, "'3'"],
    ['max_ranges = 0', /from 1 to 100.*got 0/, '0'],
    ['max_ranges = 101', /got 101/, '101'],
    ['merge_distance = -1', /from 0 to 1000.*got -1/, '-'],
    ['max_windows = 1.5', /got 1.5/, '1.5'],
    ['order = 1', /'newest' or 'oldest'; got 1/, '1'],
    ["order = 'fastest'", /'newest' or 'oldest'/, "'fastest'"],
    ['time_zone = 2', /as a string/, '2'],
    ["time_zone = 'Europe/Berlni'", /not a time zone/, "'Europe"],
    ["time_zone = 'CET'", /with its area/, "'CET'"],
    ["time_zone = '+02:00'", /not a time zone/, "'+02"],
    ["connection = ''", /name of a connection/, "''"],
  ])('refuses the option %s', (option, message, at) => {
    const sql = `CREATE FLOW a SINK TO b WITH (${option}) AS SELECT 1`;
    const error = refusal(sql);
    expect(error).toMatchObject({ code: 'invalid_option', message: expect.stringMatching(message) });
    expect(sql.slice((error.details.position ?? 0) - 1)).toMatch(new RegExp(`^${at.replace(/[+()$]/g, '\\$&')}`));
  });

  it('takes words, strings and lists for values', () => {
    const sql = `CREATE FLOW a SINK TO b WITH (order = oldest, on_delete = 'keep', key = (id, "R e", 'x')) AS SELECT 1`;
    expect(created(sql).options).toEqual({
      ...DEFAULT_OPTIONS,
      order: 'oldest',
      onDelete: 'keep',
      key: ['id', 'R e', 'x'],
    });
    expect(refusal('CREATE FLOW a SINK TO b WITH (key = ()) AS SELECT 1').message).toMatch(/a value for option key/);
  });
});

describe('other statements', () => {
  it.each([
    ['DROP FLOW a;', { kind: 'drop_flow', name: 'a', ifExists: false, dropSink: false }],
    ['drop flow if exists "A b"', { kind: 'drop_flow', name: 'A b', ifExists: true, dropSink: false }],
    ['DROP FLOW a KEEP SINK', { kind: 'drop_flow', name: 'a', ifExists: false, dropSink: false }],
    ['DROP FLOW keep WITH SINK;', { kind: 'drop_flow', name: 'keep', ifExists: false, dropSink: true }],
    ['PAUSE FLOW a', { kind: 'pause_flow', name: 'a' }],
    ['resume flow "A"', { kind: 'resume_flow', name: 'A' }],
    ['FLUSH FLOW a;', { kind: 'flush_flow', name: 'a' }],
    ["ADMIN FLUSH_FLOW('A b');", { kind: 'flush_flow', name: 'A b' }],
    [
      "REFRESH FLOW a FROM '2024-01-01T00:00:00Z' TO '2024-01-02T00:00:00+00:00';",
      {
        kind: 'refresh_flow',
        name: 'a',
        range: { start: instant(1_704_067_200_000_000n), end: instant(1_704_153_600_000_000n) },
        force: false,
      },
    ],
    [
      "refresh flow a from '1970-01-01T00:00:00Z' to '1970-01-01T00:00:01Z' force",
      { kind: 'refresh_flow', name: 'a', range: { start: 0n, end: 1_000_000n }, force: true },
    ],
    ['SHOW CREATE FLOW A', { kind: 'show_create_flow', name: 'a' }],
  ])('%s', (sql, expected) => {
    expect(parseStatement(sql)).toEqual(expected);
  });

  it.each<[string, RegExp, number]>([
    ['', /one of CREATE FLOW, ALTER FLOW, .*end of the statement/, 1],
    ['SELECT 1', /CREATE FLOW, .*SHOW FLOWS, GET/, 1],
    ['constructor', /CREATE FLOW/, 1],
    ['"create" FLOW a', /CREATE FLOW/, 1],
    ['DROP TABLE a', /expected FLOW/, 6],
    ['DROP FLOW a CASCADE', /nothing more.*KEEP SINK or WITH SINK/, 13],
    ['DROP FLOW a KEEP SINK WITH SINK', /nothing more/, 23],
    ['PAUSE a', /expected FLOW after PAUSE/, 7],
    ['RESUME FLOW', /name of a flow/, 12],
    ['FLUSH FLOW a.b', /one part/, 13],
    ['FLUSH FLOW a b', /nothing more/, 14],
    ['REFRESH FLOW a', /FROM and a time/, 15],
    ["REFRESH FLOW a FROM '2024-01-01' TO '2024-01-02T00:00:00Z'", /time of day/, 21],
    ["REFRESH FLOW a FROM '2024-01-01T00:00:00Z'", /TO and a time/, 43],
    ["REFRESH FLOW a FROM '2024-01-01T00:00:00Z' TO '2024-01-01T00:00:00Z'", /later than FROM/, 47],
    ["REFRESH FLOW a FROM '2024-01-01T00:00:00Z' TO '2024-01-02T00:00:00Z' FORCE ALL", /nothing more/, 76],
    ['ADMIN KILL(1)', /FLUSH_FLOW/, 7],
    ['ADMIN FLUSH_FLOW(a)', /in quotes/, 18],
    ["ADMIN FLUSH_FLOW('')", /empty/, 18],
    ['SHOW FLOW STATUS', /GET \/flows\/\{name\}\/state/, 6],
    ['DROP FLOW a; DROP FLOW b', /nothing more/, 14],
    ['SHOW TABLES', /expected FLOWS/, 6],
    ['SHOW CREATE TABLE a', /expected FLOW/, 13],
    ['\ud800', /surrogate/, 1],
  ])('refuses %j', (sql, message, position) => {
    const expected = { code: 'invalid_statement', message: expect.stringMatching(message), details: { position } };
    expect(refusal(sql)).toMatchObject(expected);
  });
});

describe('renderCreateFlow', () => {
  const text = fc.string({ unit: 'grapheme', maxLength: 12 }).filter((each) => !each.includes('\0'));
  const name = text.filter((each) => each !== '' && new TextEncoder().encode(each).length <= 63);
  const length = fc.option(fc.bigInt(1n, 100_000n * DAY));
  const instants = fc.bigInt(-(10n ** 16n), 10n ** 17n).map(instant);
  const input: fc.Arbitrary<FlowInput> = fc.record({
    name,
    sink: fc.record({ schema: name.filter((each) => !/^pg_|^information_schema$/.test(each)), table: name }),
    query: fc.constantFrom(
      'SELECT 1',
      "SELECT ';' -- x",
      'SELECT $a$ AS $a$ /* ; */',
      'WITH x AS (SELECT 1) SELECT * FROM x',
    ),
    expireAfter: fc.option(fc.bigInt(1n, 100_000n * DAY)),
    evalInterval: fc.option(fc.bigInt(1n, 10_000n).map((minutes) => minutes * MINUTE)),
    comment: fc.option(text),
    options: fc.record({
      connection: name,
      timeZone: fc.constantFrom('UTC', 'Europe/Berlin', 'Asia/Kolkata'),
      mergeDistance: fc.integer({ min: 0, max: 1000 }),
      maxRanges: fc.integer({ min: 1, max: 100 }),
      maxWindows: fc.integer({ min: 1, max: 10_000 }),
      order: fc.constantFrom('newest', 'oldest'),
      window: fc.constantFrom(null, '1 month', '90 minutes'),
      timeColumn: fc.option(name),
      key: fc.uniqueArray(name, { maxLength: 3 }),
      onDimensionChange: fc.constantFrom('ignore', 'refresh'),
      onDelete: fc.constantFrom('apply', 'keep'),
      lookback: length,
      delay: length,
      acceptPast: length,
      acceptFuture: length,
      cadence: fc.constantFrom('duration', 'window'),
      missedTicks: fc.constantFrom('latest', 'skip', 'catch_up'),
      catchUpMaxRuns: fc.integer({ min: 1, max: 1000 }),
      catchUpMaxLag: length,
      scheduleAnchor: instants,
      scheduleStart: fc.option(instants),
    }),
  });

  it('reads back to the same flow, whatever its names and texts', () => {
    fc.assert(
      fc.property(input, (flow) => {
        expect(created(renderCreateFlow(flow))).toEqual(flow);
      }),
      { numRuns: 500 },
    );
  });

  it('names only the options that differ from their defaults', () => {
    const options = { ...DEFAULT_OPTIONS, maxRanges: 7, timeZone: 'Europe/Berlin' };
    expect(renderCreateFlow({ ...PLAIN, options, expireAfter: 90n * MINUTE })).toBe(
      [
        'CREATE FLOW "a"',
        'SINK TO "public"."b"',
        "EXPIRE AFTER '1 hour 30 minutes'",
        "WITH (time_zone = 'Europe/Berlin', max_ranges = 7)",
        'AS\nSELECT 1',
      ].join('\n'),
    );
  });
});

describe('shiftPosition', () => {
  it('moves a position and leaves other errors alone', () => {
    const error = refusal('SHOW FLOWS LIKE 1');
    expect(shiftPosition(error, 10)).toMatchObject({ code: error.code, details: { position: 27 } });
    const other = new Error('other');
    expect(shiftPosition(other, 10)).toBe(other);
  });
});
