import { DatabaseError } from 'pg';
import { describe, expect, it } from 'vitest';
import { SluiceError } from '../../../lib/errors.ts';
import { ConnectionLost, connectFailure, translate } from '../../../lib/frontend/postgres/server-error.ts';

const SINK = { schema: 'public', table: 'sink' };
const SECRET = 'Key (name)=(Ada Lovelace) is secret';

function serverError(code: string, more: Partial<DatabaseError> = {}): DatabaseError {
  const error = new DatabaseError(more.message ?? `message about ${SECRET}`, 1, 'error');
  return Object.assign(error, { code, detail: SECRET, where: SECRET, ...more });
}

function translated(error: unknown): SluiceError {
  const thrown = translate(error, { doing: 'the plan', sink: SINK });
  if (!(thrown instanceof SluiceError)) throw new Error('it was not translated');
  return thrown;
}

describe('translate', () => {
  it.each([
    ['57014', 'statement_timeout'],
    ['55P03', 'lock_timeout'],
    ['40P01', 'deadlock'],
    ['40001', 'serialization_failure'],
    ['08006', 'frontend_unavailable'],
    ['08P01', 'frontend_unavailable'],
    ['25006', 'frontend_unavailable'],
    ['25P03', 'frontend_unavailable'],
    ['25P04', 'frontend_unavailable'],
    ['28P01', 'frontend_unavailable'],
    ['3D000', 'frontend_unavailable'],
    ['53100', 'frontend_unavailable'],
    ['53300', 'frontend_unavailable'],
    ['57P01', 'frontend_unavailable'],
    ['57P02', 'frontend_unavailable'],
    ['57P03', 'frontend_unavailable'],
    ['57P05', 'frontend_unavailable'],
  ])('takes SQLSTATE %s for the passing fault %s', (state, code) => {
    expect(translated(serverError(state))).toMatchObject({ code, retryable: true });
  });

  it.each(['42703', '42P01', '42804', '23502', '23514', '22012', 'P0001', 'XX000', '0A000', 'HV000', '99999'])(
    'takes SQLSTATE %s for a failed query',
    (state) => {
      const error = translated(serverError(state));
      expect(error).toMatchObject({ code: 'query_failed', retryable: false });
      expect(error.message).toContain(state);
    },
  );

  it.each(['22001', '22P02', '22012', '2202E', '21000', '38000', 'P0001', 'P0004', 'XX000', 'HV000', 'F0000', '99999'])(
    'shows no words of an error %s, which may quote values',
    (state) => {
      const error = translated(serverError(state));
      expect(JSON.stringify([error.message, error.details, String(error.stack)])).not.toContain('Ada');
      expect(error.cause).toBeUndefined();
    },
  );

  it('shows the words of an error that speaks of names, but not its detail, and not those of user code', () => {
    expect(translated(serverError('42703', { message: 'column "x" does not exist' })).message).toBe(
      'the plan failed: column "x" does not exist (SQLSTATE 42703)',
    );
    expect(translated(serverError('23514', { message: 'violates "c"' })).message).not.toContain('Ada');
    expect(translated(serverError('42000', { routine: 'exec_stmt_raise' })).message).not.toContain('Ada');
  });

  it('tells the sink from other tables in a unique violation', () => {
    const violation = (more: Partial<DatabaseError>) =>
      translated(serverError('23505', { message: 'duplicate key value violates unique constraint', ...more }));
    const ofSink = violation({ schema: 'public', table: 'sink', constraint: 'sink_key' });
    expect(ofSink).toMatchObject({ code: 'duplicate_sink_key', retryable: false });
    expect(ofSink.message).toContain('sink_key');
    expect(ofSink.message).not.toContain('Ada');
    expect(violation({ schema: 'other', table: 'sink' }).code).toBe('query_failed');
    expect(violation({ schema: 'public', table: 'audit', constraint: 'audit_pkey' }).code).toBe('query_failed');
  });

  it('knows a key that is too long by the function that refuses it, whatever the language of the server', () => {
    for (const routine of ['_bt_check_third_page', 'index_form_tuple', 'index_form_tuple_context']) {
      expect(translated(serverError('54000', { message: 'índice', routine })).code).toBe('key_too_long');
    }
    expect(translated(serverError('54000', { message: 'index row size 2800 exceeds btree maximum' })).code).toBe(
      'key_too_long',
    );
    expect(translated(serverError('54000', { message: 'too much' })).code).toBe('query_failed');
  });

  it('takes a lost connection for a passing fault, and leaves errors of its own alone', () => {
    expect(translated(new ConnectionLost('ECONNRESET', true))).toMatchObject({
      code: 'frontend_unavailable',
      retryable: true,
      message: expect.stringContaining('ECONNRESET'),
    });
    const own = new SluiceError('fenced', 'x');
    expect(translate(own, { doing: 'the plan' })).toBe(own);
    const bug = new TypeError('x');
    expect(translate(bug, { doing: 'the plan' })).toBe(bug);
  });
});

describe('connectFailure', () => {
  const socketError = (message: string, code?: string) => Object.assign(new Error(message), code ? { code } : {});

  it.each([
    [serverError('28P01', { message: 'password authentication failed for user "ada"' }), 'refused the login'],
    [serverError('28000', { message: 'no pg_hba.conf entry for host "10.1.2.3", user "ada"' }), 'refused the login'],
    [serverError('3D000', { message: 'database "ada" does not exist' }), 'does not exist'],
    [socketError('connect ECONNREFUSED 10.1.2.3:5432', 'ECONNREFUSED'), 'ECONNREFUSED'],
    [socketError('getaddrinfo ENOTFOUND ada.example', 'ENOTFOUND'), 'ENOTFOUND'],
    [socketError('timeout expired'), 'no answer in time'],
    [socketError('Connection terminated unexpectedly'), 'ended'],
    [socketError('The server does not support SSL connections'), 'TLS'],
    [socketError('SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string'), 'login failed'],
    [socketError('ada knows why'), 'could not be reached'],
  ])('says why without names and addresses: %s', (error, words) => {
    const failure = connectFailure(error);
    expect(failure).toMatchObject({ code: 'frontend_unavailable', retryable: true });
    expect(failure.message).toContain(words);
    const shown = JSON.stringify([failure.message, failure.details, failure.cause ?? null]);
    for (const hidden of ['ada', '10.1.2.3', 'Ada']) expect(shown).not.toContain(hidden);
  });
});
