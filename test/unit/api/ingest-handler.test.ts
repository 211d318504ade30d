import { describe, expect, it } from 'vitest';
import { createIngestHandler } from '../../../functions/ingest.ts';
import { SluiceError } from '../../../lib/errors.ts';
import { lambdaContext } from '../../../lib/local/lambda-context.ts';
import type { FlowStore } from '../../../lib/store/flow-store.ts';
import { createLogger } from '../../../lib/telemetry/logger.ts';
import { createMemoryEngine } from '../../support/memory-engine.ts';

const context = lambdaContext({ functionName: 'ingest', requestId: 'r', timeoutMs: 60_000, elapsed: () => 0 });
const t = '2024-02-29T10:15:00Z';

async function setUp(wrap?: (store: FlowStore) => FlowStore) {
  const engine = createMemoryEngine(wrap);
  await engine.create('f');
  await engine.create('g');
  const dirty = () =>
    [...engine.tables.dirty].flatMap(([flow, windows]) =>
      [...windows.values()].filter(({ version }) => !before.has(version)).map(({ start, end }) => [flow, start, end]),
    );
  const before = new Set(
    [...engine.tables.dirty.values()].flatMap((windows) => [...windows.values()].map(({ version }) => version)),
  );
  const lines: string[] = [];
  const log = createLogger({ to: { write: (line) => void lines.push(line) } });
  const ingest = createIngestHandler({ engine: engine.deps, log });
  return { dirty, lines, ingest: (detail: unknown) => ingest({ id: 'e1', detail }, context) };
}

const WINDOW = [1709200800000000n, 1709204400000000n];

describe('ingest handler', () => {
  it('marks the windows of every flow that reads the table', async () => {
    const { ingest, dirty } = await setUp();
    const marked = await ingest({ table: 'public.source', timestamps: [t] });
    expect(JSON.parse(JSON.stringify(marked))).toEqual([
      { flow: 'f', windows: 1 },
      { flow: 'g', windows: 1 },
    ]);
    expect(dirty()).toEqual([
      ['f', ...WINDOW],
      ['g', ...WINDOW],
    ]);
  });

  it('marks the windows of one flow, by ranges too', async () => {
    const { ingest, dirty } = await setUp();
    await ingest({ flow: 'g', ranges: [[t, '2024-02-29T10:15:00.000001Z']] });
    expect(dirty()).toEqual([['g', ...WINDOW]]);
  });

  it('logs what it marked, not when the rows were', async () => {
    const { ingest, lines } = await setUp();
    await ingest({ flow: 'g', timestamps: [t] });
    expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({ level: 'info', flow: 'g', action: 'marked', event: 'e1' });
    expect(lines.join('')).not.toContain('10:15');
  });

  it.each<[unknown, string, RegExp]>([
    [undefined, 'invalid_request', /detail: expected object/],
    ['text', 'invalid_request', /detail: expected object/],
    [{ timestamps: [t] }, 'invalid_request', /either flow or table/],
    [{ flow: 'f', table: 'source', timestamps: [t] }, 'invalid_request', /either flow or table/],
    [{ flow: 'f', connection: 'default', timestamps: [t] }, 'invalid_request', /detail\.connection/],
    [{ flow: 'f' }, 'invalid_request', /nothing to mark/],
    [{ flow: 'f', timestamps: ['never'] }, 'invalid_request', /detail\.timestamps\[0\]/],
    [{ flow: 'f', ranges: [[t, t]] }, 'invalid_request', /zero length/],
    [{ flow: 'f', timestamps: [t], tabel: 'x' }, 'invalid_request', /unknown field "tabel", did you mean "table"/],
    [{ flow: '', timestamps: [t] }, 'invalid_request', /name of the flow is empty/],
    [{ flow: '\ud800', timestamps: [t] }, 'invalid_request', /surrogate/],
    [{ flow: 'nobody', timestamps: [t] }, 'flow_not_found', /nobody/],
    [{ table: 'nothing', timestamps: [t] }, 'table_not_found', /no flow reads table public\.nothing/],
    [{ table: 'source', connection: 'other', timestamps: [t] }, 'table_not_found', /connection other/],
    [{ table: 'a.b.c', timestamps: [t] }, 'invalid_request', /table name/],
  ])('reports and throws %j, and marks nothing', async (detail, code, says) => {
    const { ingest, dirty, lines } = await setUp();
    const error = await ingest(detail).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(SluiceError);
    expect(error).toMatchObject({ code, message: expect.stringMatching(says) });
    expect(dirty()).toEqual([]);
    expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({ level: 'error', event: 'e1', err: { code } });
  });

  it('throws what the store throws, so that the event is tried again', async () => {
    const fault = new SluiceError('throttled', 'slow down', { retryable: true });
    let failing = false;
    const { ingest, lines } = await setUp((store) => ({
      ...store,
      markDirty: (marks) => (failing ? Promise.reject(fault) : store.markDirty(marks)),
    }));
    failing = true;
    await expect(ingest({ flow: 'f', timestamps: [t] })).rejects.toBe(fault);
    expect(lines.join('')).toContain('throttled');
  });
});
