import { describe, expect, it } from 'vitest';
import { HELP, parseArguments } from '../../../lib/local/arguments.ts';

describe('command line', () => {
  it('has a default for every flag', () => {
    expect(parseArguments([])).toEqual({
      once: false,
      dataDir: null,
      empty: false,
      port: null,
      databasePort: null,
      tickSeconds: 5,
      readyFile: null,
    });
  });

  it('takes every flag', () => {
    const argv = [
      '--once',
      '--data',
      'state',
      '--empty',
      '--port',
      '1',
      '--database-port=65535',
      '--tick',
      '0.5',
      '--ready-file',
      'ready.json',
    ];
    expect(parseArguments(argv)).toEqual({
      once: true,
      dataDir: 'state',
      empty: true,
      port: 1,
      databasePort: 65_535,
      tickSeconds: 0.5,
      readyFile: 'ready.json',
    });
  });

  it('gives null for help, whatever else is asked for, and help names every flag', () => {
    expect(parseArguments(['--once', '--help'])).toBeNull();
    expect(parseArguments(['-h'])).toBeNull();
    for (const flag of ['once', 'data', 'empty', 'port', 'database-port', 'tick', 'ready-file', 'help']) {
      expect(HELP).toContain(`  --${flag}`);
    }
  });

  it.each([
    [['--onec'], "Unknown option '--onec'. --help lists the flags."],
    [['here'], "Unexpected argument 'here'"],
    [['--data'], "'--data <value>' argument missing"],
    [['--once=yes'], "'--once' does not take an argument"],
    [['--data', ' '], '--data is empty; give a folder.'],
    [['--ready-file='], '--ready-file is empty; give a file.'],
    [['--port', '0'], '--port is "0"; give a port from 1 to 65535.'],
    [['--port', '65536'], '--port is "65536"; give a port from 1 to 65535.'],
    [['--database-port', '5433x'], '--database-port is "5433x"; give a port from 1 to 65535.'],
    [['--tick', '0'], '--tick is "0"; give seconds above 0 and up to 86400.'],
    [['--tick', 'five'], '--tick is "five"; give seconds above 0 and up to 86400.'],
    [['--tick', '86401'], '--tick is "86401"; give seconds above 0 and up to 86400.'],
    [['--tick', '1e1'], '--tick is "1e1"; give seconds above 0 and up to 86400.'],
  ])('refuses %j and says what is wrong', (argv, message) => {
    expect(() => parseArguments(argv)).toThrow(
      expect.objectContaining({ code: 'invalid_option', message: expect.stringContaining(message) }),
    );
  });
});
