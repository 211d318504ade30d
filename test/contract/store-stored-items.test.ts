import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { DEFAULT_OPTIONS } from '../../lib/flow/options.ts';
import type { Attributes } from '../../lib/store/dynamodb/attribute-codec.ts';
import {
  decodeClaim,
  decodeDefinition,
  decodeDirty,
  decodeListing,
  decodeReader,
  decodeRun,
  decodeState,
  decodeWriteId,
  encodeClaim,
  encodeDefinition,
  encodeListing,
  encodeReader,
  encodeRun,
  encodeState,
} from '../../lib/store/dynamodb/codec.ts';
import type { ConsumedWindow } from '../../lib/store/flow-store.ts';
import { listingOf, readersOfDefinition } from '../../lib/store/readers.ts';
import { bareState, hours, NOON, sampleDefinition, sampleRun, sampleState } from './store-samples.ts';

/**
 * Items as an earlier release stored them. They are never written anew: where a shape grows, the recorded item stays as it
 * is and a second one is recorded beside it.
 */
async function recorded(kind: string): Promise<Attributes> {
  const text = await readFile(new URL(`./fixtures/stored-items/${kind}.json`, import.meta.url), 'utf8');
  return JSON.parse(text) as Attributes;
}

const definition = sampleDefinition('hourly');
const [source] = readersOfDefinition(definition);
if (source === undefined) throw new Error('the sample has a source');
const { table, reader } = source;
const listing = listingOf(definition);
const run = sampleRun(NOON, 7n);
const sink = { schema: 'a/b', table: 'c#d' };

/** What was not there yet means its default. */
const BEFORE = {
  gridTimesSkipped: 0n,
  nextDueAt: null,
  lookbackAt: null,
  aside: [],
  sinkIdentity: null,
  sourceOldest: null,
  frozenBefore: null,
  sourceShrunk: null,
};
const unforced = (windows: readonly ConsumedWindow[]) => windows.map((window) => ({ ...window, forced: false }));
const state = sampleState();
const plan = state.inFlight;
const inFlight = plan && { ...plan, consumed: unforced(plan.consumed) };
const { forced, ...mark } = { ...hours(-5n), version: 'v1', forced: true };

interface Kind {
  readonly decode: (item: Attributes) => unknown;
  readonly means: unknown;
  /** As it is written today. */
  readonly encoded?: Attributes;
}

const KINDS: Record<string, Kind> = {
  state: { decode: decodeState, means: { ...state, ...BEFORE, inFlight, settle: unforced(state.settle) } },
  'state-2': { decode: decodeState, means: state, encoded: encodeState('hourly', state, 'write 1') },
  definition: {
    decode: decodeDefinition,
    means: {
      ...definition,
      placeholder: false,
      compiled: { ...definition.compiled, beneath: [], history: null },
      options: {
        ...DEFAULT_OPTIONS,
        timeZone: 'Europe/Berlin',
        mergeDistance: 0,
        maxRanges: 5,
        maxWindows: 6,
        order: 'oldest',
      },
    },
  },
  'definition-2': {
    decode: decodeDefinition,
    means: { ...definition, compiled: { ...definition.compiled, beneath: [] } },
  },
  'definition-3': { decode: decodeDefinition, means: definition, encoded: encodeDefinition(definition) },
  dirty: { decode: decodeDirty, means: { ...mark, forced: false } },
  'dirty-2': { decode: decodeDirty, means: { ...mark, forced } },
  reader: { decode: decodeReader, means: { ...reader, timeColumn: null, refreshesWhole: false } },
  'reader-2': { decode: decodeReader, means: reader, encoded: encodeReader('default', table, reader, 3n) },
  claim: { decode: decodeClaim, means: 'hourly', encoded: encodeClaim('default', sink, 'hourly') },
  listing: { decode: decodeListing, means: listing, encoded: encodeListing(listing, 3n) },
  run: { decode: decodeRun, means: run, encoded: encodeRun('hourly', run) },
};

describe.each(Object.entries(KINDS))('a stored %s', (kind, { decode, means }) => {
  it('is read as what was written', async () => {
    expect(decode(await recorded(kind))).toEqual(means);
  });

  it('is read although it has attributes of a later release', async () => {
    const item = await recorded(kind);
    expect(decode({ ...item, later: { M: { deep: { L: [{ N: '1' }] } } } })).toEqual(means);
  });

  it('is refused with a later schema, by name and not by content', async () => {
    const first = await recorded(kind);
    expect(first['schema']).toEqual({ N: '1' });
    const item = { ...first, schema: { N: '2' } };
    const { pk, sk } = item as { pk?: { S?: string }; sk?: { S?: string } };
    expect(() => decode(item)).toThrow(`stored item ${pk?.S}/${sk?.S} has schema 2`);
  });
});

const WRITTEN = Object.entries(KINDS).flatMap(([kind, { encoded }]) =>
  encoded === undefined ? [] : [{ kind, encoded }],
);

it.each(WRITTEN)('a stored $kind is written in the same shape today', async ({ kind, encoded }) => {
  expect(encoded).toEqual(await recorded(kind));
});

describe('a stored state', () => {
  it('of the first release, with the least of attributes, has defaults for the others', async () => {
    expect(decodeState(await recorded('state-least'))).toEqual(bareState({ status: 'active', generation: 1n }));
  });

  it('tells who wrote it; one repaired by hand was written by nobody', async () => {
    const { writeId, ...item } = await recorded('state');
    expect(decodeWriteId({ ...item, writeId: writeId ?? { NULL: true } })).toBe('write 1');
    expect(decodeWriteId(item)).toBe('');
  });

  it('without its epoch, or with one of another type, is refused', async () => {
    const { epoch, ...item } = await recorded('state');
    expect(epoch).toEqual({ S: '7' });
    expect(() => decodeState(item)).toThrow('FLOW#hourly/STATE.epoch: expected digits in text, found nothing');
    expect(() => decodeState({ ...item, epoch: { N: '7' } })).toThrow('found type N');
    expect(() => decodeState({ ...item, epoch: { S: '7.5' } })).toThrow('expected digits');
    expect(() => decodeState({ ...item, epoch: { S: '7' }, status: { S: 'odd' } })).toThrow('one of creating, active');
  });

  it('has no attribute that would make DynamoDB expire it', async () => {
    for (const kind of Object.keys(KINDS)) {
      expect('expiresAt' in (await recorded(kind)), kind).toBe(kind === 'run');
    }
  });
});
