import { describe, expect, it } from 'vitest';
import { SluiceError } from '../../../lib/errors.ts';
import { describeError } from '../../../lib/telemetry/describe-error.ts';
import { engineLog } from '../../../lib/telemetry/engine-log.ts';
import { createLogger, type LogLevel } from '../../../lib/telemetry/logger.ts';

function capture(level?: LogLevel) {
  const text: string[] = [];
  const logger = createLogger({
    ...(level === undefined ? {} : { level }),
    to: { write: (line) => void text.push(line) },
  });
  return { logger, lines: () => text.map((line) => JSON.parse(line) as Record<string, unknown>), text };
}

/** As `pg` makes it of an ErrorResponse: the message and the detail quote a row. */
function databaseError(): Error {
  return Object.assign(new Error('duplicate key: alice@example.org'), {
    severity: 'ERROR',
    routine: '_bt_check_unique',
    code: '23505',
    detail: 'Key (email)=(alice@example.org) already exists.',
  });
}

describe('createLogger', () => {
  it('writes one JSON object a line with the level by name and an ISO time', () => {
    const { logger, lines, text } = capture();
    logger.info({ flow: 'a' }, 'nothing is dirty');
    expect(text[0]?.endsWith('\n')).toBe(true);
    expect(lines()).toEqual([
      { level: 'info', time: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/), flow: 'a', msg: 'nothing is dirty' },
    ]);
  });

  it('redacts secrets at the top and one level down', () => {
    const { logger, text } = capture();
    logger.info(
      { connectionString: 'postgres://u:hunter2@h/db', config: { password: 'hunter2', host: 'h' } },
      'connected',
    );
    expect(text.join('')).not.toContain('hunter2');
    expect(text.join('')).toContain('"host":"h"');
  });

  it('is silent below its level', () => {
    const { logger, lines } = capture('error');
    logger.warn('no');
    logger.error('yes');
    expect(lines().map((line) => line.msg)).toEqual(['yes']);
  });
});

describe('describeError', () => {
  it("tells a SluiceError's code, message and 64-bit details as strings", () => {
    const error = new SluiceError('fenced', 'epoch 4 is behind the fence 9007199254740993', {
      details: { fence: 9007199254740993n, holder: 'w1' },
    });
    expect(describeError(error)).toEqual({
      type: 'SluiceError',
      code: 'fenced',
      message: 'epoch 4 is behind the fence 9007199254740993',
      retryable: false,
      holder: 'w1',
      fence: '9007199254740993',
    });
  });

  it('keeps row data that a database error quotes out of the log, also as a cause', () => {
    const wrapped = new SluiceError('query_failed', 'the query failed with SQLSTATE 23505', { cause: databaseError() });
    for (const error of [databaseError(), wrapped]) {
      const told = JSON.stringify(describeError(error));
      expect(told).toContain('23505');
      expect(told).not.toContain('alice');
    }
  });

  it('tells message and frames of a programming error', () => {
    const described = describeError(new TypeError('x is not a function'));
    expect(described.message).toBe('x is not a function');
    expect(described.stack?.[0]).toMatch(/^at /);
  });

  it('ends on a chain of causes that runs in a circle, and on values that are no errors', () => {
    const circle = new Error('round');
    circle.cause = circle;
    expect(JSON.stringify(describeError(circle)).match(/round/g)?.length).toBeLessThan(10);
    expect(describeError('text of unknown origin')).toEqual({ type: 'string' });
  });
});

describe('engineLog', () => {
  it('writes flow, action, epoch and reason, and picks the level by what went wrong', () => {
    const { logger, lines } = capture();
    const log = engineLog(logger);
    log({ flow: 'f', action: 'committed', reason: '3 windows', epoch: 18446744073709551615n });
    log({
      flow: 'f',
      action: 'failed',
      reason: 'busy',
      error: new SluiceError('throttled', 'slow down', { retryable: true }),
    });
    log({ flow: 'f', action: 'failed', reason: 'bug', error: new TypeError('boom') });
    expect(lines().map(({ level, msg, epoch }) => ({ level, msg, epoch }))).toEqual([
      { level: 'info', msg: '3 windows', epoch: '18446744073709551615' },
      { level: 'warn', msg: 'busy', epoch: undefined },
      { level: 'error', msg: 'bug', epoch: undefined },
    ]);
  });
});
