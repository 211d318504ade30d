import { describe, expect, it } from 'vitest';
import { createRuntime, onFirstEvent } from '../../../functions/runtime.ts';
import { readSettings } from '../../../functions/settings.ts';
import { SluiceError } from '../../../lib/errors.ts';

const ENV = { SLUICE_TABLE: 'state', SLUICE_CONNECTIONS: '{"default":"postgres://u:hunter2@h/db"}' };

describe('readSettings', () => {
  it('fills in what may be left out', () => {
    expect(readSettings(ENV)).toEqual({
      tableName: 'state',
      connections: { default: 'postgres://u:hunter2@h/db' },
      namespace: 'state',
      eventBusName: 'default',
      rulePrefix: 'sluice-',
      tickFunctionArn: null,
      logLevel: 'info',
    });
  });

  it('takes connection parameters in place of a URL, and every variable', () => {
    const settings = readSettings({
      SLUICE_TABLE: 't',
      SLUICE_CONNECTIONS: '{"a":{"host":"h","port":5433},"b":"postgres://h/b"}',
      SLUICE_NAMESPACE: 'n',
      SLUICE_EVENT_BUS: 'bus',
      SLUICE_RULE_PREFIX: 'p-',
      SLUICE_TICK_FUNCTION_ARN: 'arn',
      SLUICE_LOG_LEVEL: 'debug',
    });
    expect(settings).toMatchObject({
      connections: { a: { host: 'h', port: 5433 }, b: 'postgres://h/b' },
      namespace: 'n',
      eventBusName: 'bus',
      rulePrefix: 'p-',
      tickFunctionArn: 'arn',
      logLevel: 'debug',
    });
  });

  it.each([
    [{}, /SLUICE_TABLE is not set/],
    [{ SLUICE_TABLE: ' ' }, /SLUICE_TABLE is not set/],
    [{ SLUICE_TABLE: 't' }, /SLUICE_CONNECTIONS is not set/],
    [{ ...ENV, SLUICE_CONNECTIONS: 'postgres://u:hunter2@h/db' }, /SLUICE_CONNECTIONS.*no JSON object/],
    [{ ...ENV, SLUICE_CONNECTIONS: '["postgres://u:hunter2@h/db"]' }, /SLUICE_CONNECTIONS.*no JSON object/],
    [{ ...ENV, SLUICE_CONNECTIONS: '{}' }, /SLUICE_CONNECTIONS.*empty/],
    [{ ...ENV, SLUICE_CONNECTIONS: '{"a":"postgres://u:hunter2@h/db","b":7}' }, /SLUICE_CONNECTIONS.*"b"/],
    [{ ...ENV, SLUICE_LOG_LEVEL: 'loud' }, /SLUICE_LOG_LEVEL must be one of trace/],
  ])('names the variable that is wrong, and no password', (env, says) => {
    let message = '';
    try {
      readSettings(env);
    } catch (error) {
      expect(error).toBeInstanceOf(SluiceError);
      message = String(error);
      expect((error as SluiceError).cause).toBeUndefined();
    }
    expect(message).toMatch(says);
    expect(message).not.toContain('hunter2');
  });
});

describe('createRuntime', () => {
  it('opens each connection once, when it is asked for, and names those there are', () => {
    const { engine } = createRuntime({ ...readSettings(ENV), logLevel: 'silent' });
    expect(engine.frontend('default')).toBe(engine.frontend('default'));
    expect(() => engine.frontend('other')).toThrow(/no connection "other"; there are default/);
    expect(() => engine.frontend('toString')).toThrow(/no connection "toString"/);
  });
});

describe('onFirstEvent', () => {
  it('fails each event with the reason while the environment is wrong', async () => {
    const handler = onFirstEvent(() => () => Promise.resolve('answered'));
    await expect(handler({}, {})).rejects.toThrow(/SLUICE_TABLE/);
    await expect(handler({}, {})).rejects.toThrow(/SLUICE_TABLE/);
  });
});
