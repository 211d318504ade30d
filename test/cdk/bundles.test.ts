import { spawn } from 'node:child_process';
import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Metafile } from 'esbuild';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { bundleFunction, type FunctionName } from '../../cdk/constructs/bundling.ts';
import { createTestTable, type TestTable } from '../support/dynamo-table.ts';

const FUNCTIONS: readonly FunctionName[] = ['api', 'tick', 'ingest'];

/** What only the analysis of a query and the checks of a request need; a tick that started with it would start late. */
const CONTROL_PLANE = ['node_modules/zod/', 'node_modules/libpg-query/', 'lib/sql/', 'lib/api/'];

describe('bundles', () => {
  let folder: string;
  let table: TestTable;
  const metafiles = {} as Record<FunctionName, Metafile>;
  beforeAll(async () => {
    // Outside of the project, so that nothing is found in a node_modules folder that Lambda does not have.
    folder = await mkdtemp(join(tmpdir(), 'sluice-bundles-'));
    for (const name of FUNCTIONS) metafiles[name] = bundleFunction(name, join(folder, name));
    table = await createTestTable();
  });
  afterAll(async () => {
    await table.drop();
    await rm(folder, { recursive: true });
  });

  /** Imports the built function in a process of its own, gives it one event, and parses what it answers. */
  async function invoke(name: FunctionName, event: unknown, environment: Record<string, string> = {}) {
    const script = join(folder, `${name}.mjs`);
    await writeFile(
      script,
      `import { handler } from './${name}/index.mjs';
       const context = { awsRequestId: 'r', getRemainingTimeInMillis: () => 20000 };
       const told = await handler(${JSON.stringify(event)}, context).then((answer) => ({ answer }), (error) => ({ error: error.message }));
       // As Lambda does: what JSON cannot hold fails the invocation.
       process.send(JSON.parse(JSON.stringify(told)), () => process.exit(0));`,
    );
    const child = spawn(process.execPath, ['--enable-source-maps', script], {
      cwd: folder,
      env: {
        AWS_REGION: 'us-east-1',
        AWS_ACCESS_KEY_ID: 'test',
        AWS_SECRET_ACCESS_KEY: 'test',
        AWS_ENDPOINT_URL_DYNAMODB: inject('dynamoEndpoint'),
        SLUICE_TABLE: table.tableName,
        SLUICE_CONNECTIONS: JSON.stringify({ default: inject('databaseUrl') }),
        ...environment,
      },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    const told = new Promise((resolve) => child.once('message', resolve));
    const ended = new Promise((resolve) => child.once('close', resolve));
    const [log, errors] = await Promise.all([text(child.stdout!), text(child.stderr!), ended]);
    expect(errors).toBe('');
    const answer = (await told) as {
      answer?: { statusCode: number; body: string } & Record<string, unknown>;
      error?: string;
    };
    return { ...answer, log };
  }

  function request(method: string, path: string, body?: unknown) {
    return {
      version: '2.0',
      rawPath: path,
      rawQueryString: '',
      headers: { 'content-type': 'application/json' },
      requestContext: { requestId: 'r', http: { method, path } },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      isBase64Encoded: false,
    };
  }

  const holds = (name: FunctionName, part: string) =>
    Object.keys(metafiles[name].inputs).some((input) => input.includes(part));

  it.each(CONTROL_PLANE)('the tick has nothing of %s', (part) => {
    expect(holds('tick', part)).toBe(false);
    // The control: the very question finds it where it is.
    expect(holds('api', part)).toBe(true);
  });

  it('no bundle has a second parser', () => {
    for (const name of FUNCTIONS) {
      for (const part of ['node_modules/pgsql-parser/', 'node_modules/pgsql-deparser/']) {
        expect(holds(name, part), `${name}: ${part}`).toBe(false);
      }
    }
  });

  it('the tick has the engine, the store and the frontend', () => {
    for (const part of ['lib/engine/', 'lib/store/dynamodb/', 'lib/frontend/postgres/'])
      expect(holds('tick', part)).toBe(true);
  });

  it('none has the embedded default or the CDK', () => {
    for (const name of FUNCTIONS) {
      for (const part of ['lib/local/', 'cdk/', 'node_modules/aws-cdk-lib/', 'node_modules/dynalite/']) {
        expect(holds(name, part), `${name}: ${part}`).toBe(false);
      }
    }
  });

  it('has the parser’s WebAssembly beside the code of the API, and only there', async () => {
    expect(await readdir(join(folder, 'api'))).toEqual(['index.mjs', 'index.mjs.map', 'libpg-query.wasm']);
    expect(await readdir(join(folder, 'tick'))).toEqual(['index.mjs', 'index.mjs.map']);
    expect(await readdir(join(folder, 'ingest'))).toEqual(['index.mjs', 'index.mjs.map']);
  });

  it('keeps the tick small: it is what starts most often', async () => {
    expect((await stat(join(folder, 'tick', 'index.mjs'))).size).toBeLessThan(1_500_000);
  });

  it('the same source gives the same bundle', async () => {
    const again = bundleFunction('tick', join(folder, 'tick-again'));
    const hash = (metafile: Metafile) => Object.values(metafile.outputs).map(({ bytes }) => bytes);
    expect(hash(again)).toEqual(hash(metafiles.tick));
  });

  it('the API answers for its description', async () => {
    const { answer } = await invoke('api', request('GET', '/openapi.json'));
    expect(answer?.statusCode).toBe(200);
    expect(JSON.parse(answer?.body ?? '')).toMatchObject({
      openapi: expect.stringMatching(/^3\.1/),
      paths: { '/sql': {} },
    });
  });

  it('the API parses a query with what lies beside it', async () => {
    const sql = 'CREATE FLOW f SINK TO s AS SELECT date_trunc FROM (SELECT WHERE';
    const { answer } = await invoke('api', request('POST', '/sql', { sql }));
    expect(JSON.parse(answer?.body ?? '')).toMatchObject({
      error: { code: 'invalid_query', message: expect.stringMatching(/syntax/i) },
    });
    expect(answer?.statusCode).toBe(422);
  });

  it('the tick answers for a flow that is not there, and says what it decided', async () => {
    const { answer, log } = await invoke('tick', { detail: { flow: 'nobody', reason: 'schedule' } });
    expect(answer).toMatchObject({ action: 'idle', reason: 'no such flow' });
    expect(JSON.parse(log.trim().split('\n').at(-1) ?? '')).toMatchObject({
      level: 'info',
      flow: 'nobody',
      msg: 'no such flow',
    });
  });

  it('the ingest fails on a mark for a flow that is not there', async () => {
    const { error } = await invoke('ingest', { detail: { flow: 'nobody', timestamps: ['2024-01-01T00:00:00Z'] } });
    expect(error).toMatch(/no flow nobody/);
  });

  it.each(FUNCTIONS)('%s says which variable is missing', async (name) => {
    const { error } = await invoke(name, request('GET', '/openapi.json'), { SLUICE_TABLE: '' });
    expect(error).toMatch(/SLUICE_TABLE is not set/);
  });
});
