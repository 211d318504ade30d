import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { SluiceError } from '../../../lib/errors.ts';
import { parseStatement } from '../../../lib/flow/statement.ts';

const NAMES = ['hourly', 'hourly_trips', 'Hourly', 'daily', 'a%b', 'a_b', 'axb', 'a\\b', "o'clock", '😀', ''];

function shown(filter: string): string[] {
  const statement = parseStatement(`SHOW FLOWS ${filter}`);
  if (statement.kind !== 'show_flows') return expect.fail(statement.kind);
  return NAMES.filter(statement.shows);
}

describe('SHOW FLOWS', () => {
  it.each<[string, readonly string[]]>([
    ['', NAMES],
    ['-- all', NAMES],
    ["LIKE 'hourly'", ['hourly']],
    ["LIKE 'hourly%';", ['hourly', 'hourly_trips']],
    ["LIKE '%'", NAMES],
    ["LIKE ''", ['']],
    ["LIKE '_'", ['😀']],
    ["LIKE 'a_b'", ['a%b', 'a_b', 'axb', 'a\\b']],
    ["LIKE 'a\\_b'", ['a_b']],
    ["LIKE 'a\\%b'", ['a%b']],
    ["LIKE 'a\\\\b'", ['a\\b']],
    ["LIKE 'a\\b'", []],
    ["LIKE 'a\\b' ESCAPE ''", ['a\\b']],
    ["LIKE 'a!_b' ESCAPE '!'", ['a_b']],
    ["LIKE '%''%'", ["o'clock"]],
    ["LIKE '%ly%_%'", ['hourly_trips']],
    ["WHERE Flows = 'hourly'", ['hourly']],
    ["where flow = 'Hourly'", ['Hourly']],
    ['WHERE "Flows" = \'daily\'', ['daily']],
    ["WHERE name = 'daily' OR name = 'axb'", ['daily', 'axb']],
    ["WHERE Flows <> 'hourly' AND Flows != 'Hourly' AND Flows LIKE '%ourly'", []],
    ["WHERE Flows LIKE 'h%' AND Flows NOT LIKE '%trips'", ['hourly']],
    ["WHERE Flows IN ('daily', 'axb', 'nobody')", ['daily', 'axb']],
    ["WHERE Flows NOT IN ('hourly') AND Flows LIKE 'hourly%'", ['hourly_trips']],
    ["WHERE Flows = 'daily' OR Flows = 'axb' AND Flows = 'nobody'", ['daily']],
    ["WHERE (Flows = 'daily' OR Flows = 'axb') AND Flows = 'nobody'", []],
    ["WHERE NOT (Flows LIKE '_%')", ['']],
  ])('%s', (filter, names) => {
    expect(shown(filter)).toEqual(names);
  });

  it.each<[string, RegExp, string]>([
    ['LIKE hourly', /pattern in quotes/, 'hourly'],
    ["LIKE 'a\\'", /escape character/, "'a\\'"],
    ["LIKE 'a' ESCAPE 'xy'", /one character/, "'xy'"],
    ["LIKE 'a' 'b'", /nothing more/, "'b'"],
    ["ILIKE 'a'", /nothing more/, 'ILIKE'],
    ['WHERE', /name of the flow/, ''],
    ["WHERE sink = 's'", /Flows = 'a'/, 'sink'],
    ["WHERE comment LIKE 'x%'", /Flows = 'a'/, 'comment'],
    ["WHERE 'a' = Flows", /Flows = 'a'/, "'a'"],
    ["WHERE Flows > 'a'", /not read here/, '>'],
    ["WHERE Flows < > 'a'", /not read here/, '<'],
    ["WHERE Flows ~ 'a'", /not read here/, '~'],
    ["WHERE Flows ILIKE 'a'", /not read here/, 'ILIKE'],
    ['WHERE Flows IS NULL', /not read here/, 'IS'],
    ["WHERE lower(Flows) = 'a'", /Flows = 'a'/, 'lower'],
    ['WHERE Flows = hourly', /in single quotes/, 'hourly'],
    ['WHERE Flows IN ()', /in single quotes/, ')'],
    ["WHERE Flows IN ('a'", /another name/, ''],
    ["WHERE (Flows = 'a'", /\) after the condition/, ''],
    ["WHERE Flows = 'a' LIMIT 1", /nothing more/, 'LIMIT'],
    ["WHERE Flows = 'a' ORDER BY 1", /nothing more/, 'ORDER'],
    ['WHERE true', /Flows = 'a'/, 'true'],
    ['IN sluice', /nothing more/, 'IN'],
    [`WHERE ${'('.repeat(20_000)}`, /inside of each other/, '('],
    [`WHERE ${'NOT '.repeat(20_000)}`, /inside of each other/, 'NOT'],
  ])('refuses %j', (filter, message, at) => {
    const sql = `SHOW FLOWS ${filter}`;
    let thrown: SluiceError | null = null;
    try {
      parseStatement(sql);
    } catch (error) {
      thrown = error as SluiceError;
    }
    expect(thrown).toMatchObject({ code: 'invalid_statement', message: expect.stringMatching(message) });
    const tail = sql.slice((thrown?.details.position ?? 0) - 1);
    expect(at === '' ? tail : tail.slice(0, at.length)).toBe(at);
  });

  it('finds with LIKE what the same pattern finds as a regular expression', () => {
    const letters = fc.string({ unit: fc.constantFrom('a', 'b', '%', '_'), maxLength: 8 });
    const likeByExpression = (text: string, pattern: string) =>
      new RegExp(`^${pattern.replaceAll('%', '.*').replaceAll('_', '.')}$`, 's').test(text);
    fc.assert(
      fc.property(letters, letters, (text, pattern) => {
        const statement = parseStatement(`SHOW FLOWS LIKE '${pattern}'`);
        expect(statement.kind === 'show_flows' && statement.shows(text)).toBe(likeByExpression(text, pattern));
      }),
      { numRuns: 2000 },
    );
  });

  it('takes no longer for a pattern that a backtracking search would never end with', () => {
    const statement = parseStatement(`SHOW FLOWS LIKE '${'%a'.repeat(5_000)}'`);
    expect(statement.kind === 'show_flows' && statement.shows(`${'a'.repeat(62)}b`)).toBe(false);
  });
});
