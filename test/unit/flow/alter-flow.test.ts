import { describe, expect, it } from 'vitest';
import type { SluiceError } from '../../../lib/errors.ts';
import { applyChange, type FlowChange, flowChangeFromJson } from '../../../lib/flow/flow-change.ts';
import type { FlowInput } from '../../../lib/flow/flow-input.ts';
import { DEFAULT_OPTIONS } from '../../../lib/flow/options.ts';
import { parseStatement } from '../../../lib/flow/statement.ts';
import { DAY, HOUR, MINUTE } from '../../../lib/window/instant.ts';

const FLOW: FlowInput = {
  name: 'f',
  sink: { schema: 'public', table: 's' },
  query: 'SELECT 1',
  expireAfter: DAY,
  evalInterval: HOUR,
  comment: 'c',
  options: { ...DEFAULT_OPTIONS, maxWindows: 7, lookback: HOUR },
};

/** The same change as a statement and as a merge patch. */
const CHANGES: readonly (readonly [statement: string, patch: Record<string, unknown>, change: FlowChange])[] = [
  ['SET (max_windows = 10)', { options: { max_windows: 10 } }, { options: { maxWindows: 10 } }],
  [
    'SET (order = oldest, key = (a, "B c"), lookback = \'2 hours\')',
    { options: { order: 'oldest', key: ['a', 'B c'], lookback: '2 hours' } },
    { options: { order: 'oldest', key: ['a', 'B c'], lookback: 2n * HOUR } },
  ],
  [
    'RESET (max_windows, lookback)',
    { options: { max_windows: null, lookback: null } },
    { options: { maxWindows: 20, lookback: null } },
  ],
  ["SET EXPIRE AFTER '2 days'", { expire_after: '2 days' }, { expireAfter: 2n * DAY, options: {} }],
  ["set expire after interval '2 days'", { expire_after: '2 days' }, { expireAfter: 2n * DAY, options: {} }],
  ['RESET EXPIRE AFTER', { expire_after: null }, { expireAfter: null, options: {} }],
  ["SET EVAL INTERVAL '5 minutes'", { eval_interval: '5 minutes' }, { evalInterval: 5n * MINUTE, options: {} }],
  ['RESET EVAL INTERVAL', { eval_interval: null }, { evalInterval: null, options: {} }],
  ["SET COMMENT 'it''s'", { comment: "it's" }, { comment: "it's", options: {} }],
  ['SET COMMENT NULL', { comment: null }, { comment: null, options: {} }],
  ['RESET COMMENT', { comment: null }, { comment: null, options: {} }],
  [
    "SET (max_windows = 1), RESET (lookback), SET COMMENT '', RESET EXPIRE AFTER",
    { options: { max_windows: 1, lookback: null }, comment: '', expire_after: null },
    { options: { maxWindows: 1, lookback: null }, comment: '', expireAfter: null },
  ],
];

describe('ALTER FLOW', () => {
  it.each(CHANGES)('%s', (statement, _patch, change) => {
    const expected = { kind: 'alter_flow', name: 'f', ifExists: false, change };
    expect(parseStatement(`ALTER FLOW f ${statement};`)).toEqual(expected);
  });

  it.each(CHANGES)('as a patch: %s', (_statement, patch, change) => {
    expect(flowChangeFromJson(patch)).toEqual(change);
  });

  it('knows IF EXISTS, and COMMENT ON FLOW as another way to say it', () => {
    expect(parseStatement('ALTER FLOW IF EXISTS "F f" RESET COMMENT')).toMatchObject({ name: 'F f', ifExists: true });
    const change = (comment: string | null) => ({
      kind: 'alter_flow',
      name: 'f',
      ifExists: false,
      change: { comment, options: {} },
    });
    expect(parseStatement("COMMENT ON FLOW f IS 'x'")).toEqual(change('x'));
    expect(parseStatement('comment on flow F is null;')).toEqual(change(null));
  });

  it.each<[string, RegExp, string]>([
    ['ALTER TABLE f SET (order = newest)', /expected FLOW/, 'TABLE'],
    ['ALTER FLOW f', /SET or RESET with/, ''],
    ['ALTER FLOW f RENAME TO g', /SET or RESET with.*CREATE OR REPLACE FLOW/, 'RENAME'],
    ['ALTER FLOW f SET max_windows = 3', /SET or RESET with/, 'max_windows'],
    ['ALTER FLOW f SET ()', /name of an option/, ')'],
    ['ALTER FLOW f SET (max_windws = 3)', /Did you mean max_windows/, 'max_windws'],
    ['ALTER FLOW f RESET (max_windws)', /Did you mean max_windows/, 'max_windws'],
    ['ALTER FLOW f RESET (max_windows = 3)', /another option/, '= 3'],
    ['ALTER FLOW f SET (max_windows = 0)', /from 1 to 10000/, '0)'],
    ['ALTER FLOW f SET (order = newest, order = oldest)', /order is given twice/, 'order = oldest'],
    ['ALTER FLOW f SET (order = newest), RESET (order)', /changed twice/, '(order)'],
    ["ALTER FLOW f SET COMMENT 'a', RESET COMMENT", /COMMENT is changed twice/, 'COMMENT'],
    ["ALTER FLOW f SET EXPIRE AFTER '1 h', RESET EXPIRE AFTER", /EXPIRE AFTER is changed twice/, 'EXPIRE'],
    ["ALTER FLOW f SET EVAL INTERVAL '1 h', RESET EVAL INTERVAL", /EVAL INTERVAL is changed twice/, 'EVAL'],
    ["ALTER FLOW f SET EVAL INTERVAL '30 s'", /whole minutes/, "'30 s'"],
    ["ALTER FLOW f SET EXPIRE AFTER '1 month'", /no fixed length/, "'1 month'"],
    ['ALTER FLOW f SET EXPIRE AFTER NULL', /in quotes/, 'NULL'],
    ['ALTER FLOW f SET COMMENT 5', /in quotes, or NULL/, '5'],
    ["ALTER FLOW f RESET COMMENT 'x'", /nothing more/, "'x'"],
    ["COMMENT ON TABLE f IS 'x'", /ON FLOW/, 'ON TABLE'],
    ["COMMENT ON FLOW f 'x'", /expected IS/, "'x'"],
    [`COMMENT ON FLOW f IS '${'x'.repeat(4097)}'`, /at most 4096/, "'x"],
  ])('refuses %s', (sql, message, at) => {
    let thrown: SluiceError | null = null;
    try {
      parseStatement(sql);
    } catch (error) {
      thrown = error as SluiceError;
    }
    expect(thrown).toMatchObject({ message: expect.stringMatching(message) });
    expect(thrown?.code).toMatch(/^invalid_(statement|option)$/);
    const tail = sql.slice((thrown?.details.position ?? 0) - 1);
    expect(at === '' ? tail : tail.slice(0, at.length)).toBe(at);
  });
});

describe('a change applied to a flow', () => {
  it('changes what it names, and keeps the rest', () => {
    const change: FlowChange = { expireAfter: null, options: { maxWindows: 20 } };
    const changed = { ...FLOW, expireAfter: null, options: { ...FLOW.options, maxWindows: 20 } };
    expect(applyChange(FLOW, change)).toEqual(changed);
    expect(applyChange(FLOW, { options: {} })).toEqual(FLOW);
  });

  it('refuses another connection, and says what to do', () => {
    const refusal = { code: 'invalid_option', message: expect.stringMatching(/"default".*CREATE OR REPLACE FLOW/) };
    expect(() => applyChange(FLOW, { options: { connection: 'other' } })).toThrow(
      expect.objectContaining(refusal) as unknown as Error,
    );
    expect(applyChange(FLOW, { options: { connection: 'default' } })).toEqual(FLOW);
  });
});
