import { describe, expect, it } from 'vitest';
import { rebuildOf } from '../../../lib/engine/rebuild.ts';
import type { FlowDefinition, FlowOptions } from '../../../lib/flow/definition.ts';
import { DEFAULT_OPTIONS } from '../../../lib/flow/options.ts';
import { DAY, HOUR, instant, MINUTE } from '../../../lib/window/instant.ts';
import { hourlyDefinition } from '../../support/definitions.ts';

const BEFORE = hourlyDefinition('f', { schema: 'public', table: 'source' }, { schema: 'public', table: 'sink' });

type Change = Partial<Omit<FlowDefinition, 'options'>> & { readonly options?: Partial<FlowOptions> };

function changed(definition: FlowDefinition, { options, ...rest }: Change): FlowDefinition {
  return { ...definition, ...rest, options: { ...definition.options, ...options } };
}

const { compiled } = BEFORE;
const KEPT = 'the change does not touch the rows of the sink';

/** What differs before, what differs after, and why everything is dirty then; null: it is not. */
const TABLE: readonly (readonly [what: string, before: Change, after: Change, reason: string | null])[] = [
  ['nothing', {}, {}, null],
  ['another generation', {}, { generation: 9n }, null],
  ['a comment', {}, { comment: 'other' }, null],
  ['a query of the same meaning', {}, { query: 'written otherwise' }, null],
  ['a schedule', {}, { evalInterval: 5n * MINUTE }, null],
  ['no schedule any more', { evalInterval: HOUR }, {}, null],
  ['another sink', {}, { sink: { schema: 'public', table: 'other' } }, 'the sink is another table'],
  ['another schema', {}, { sink: { schema: 'other', table: 'sink' } }, 'the sink is another table'],
  ['another database', {}, { options: { connection: 'other' } }, 'the sink is another table'],
  ['another zone', {}, { options: { timeZone: 'Europe/Berlin' } }, 'time_zone is another one'],
  [
    'longer windows',
    {},
    {
      compiled: {
        ...compiled,
        window: compiled.window && {
          ...compiled.window,
          spec: { kind: 'fixed', size: DAY, origin: instant(0n) },
        },
      },
    },
    'the windows are cut otherwise',
  ],
  ['no windows', {}, { compiled: { ...compiled, window: null } }, 'the windows are cut otherwise'],
  ['another key', {}, { compiled: { ...compiled, keys: ['label'] } }, 'rows are identified by other columns'],
  ['another query', {}, { compiled: { ...compiled, text: ['SELECT 1'] } }, 'the query computes something else'],
  ['a later compiler', {}, { compiled: { ...compiled, compiler: 2 } }, 'the query computes something else'],
  ['another sink column', {}, { sinkColumns: [{ name: 'n', type: 'text' }] }, 'other columns of the sink are filled'],
  ['a wider sink column', {}, { sinkColumns: BEFORE.sinkColumns.map(({ name }) => ({ name, type: 'wider' })) }, null],
  ['no update_at', {}, { updateAt: false }, 'other columns of the sink are filled'],
  ['a placeholder', {}, { placeholder: true }, 'other columns of the sink are filled'],
  ['a longer expiry', { expireAfter: HOUR }, { expireAfter: DAY }, 'EXPIRE AFTER reaches further back'],
  ['no expiry any more', { expireAfter: HOUR }, {}, 'EXPIRE AFTER reaches further back'],
  ['a shorter expiry', { expireAfter: DAY }, { expireAfter: HOUR }, null],
  ['an expiry', {}, { expireAfter: HOUR }, null],
  [
    'deletions that are applied again',
    { options: { onDelete: 'keep' } },
    {},
    'on_delete = apply removes the rows that were kept',
  ],
  ['deletions that are not applied any more', {}, { options: { onDelete: 'keep' } }, null],
  [
    'dimensions that count',
    {},
    { options: { onDimensionChange: 'refresh' } },
    'changes of dimensions that were ignored are brought in',
  ],
  ['dimensions that do not count any more', { options: { onDimensionChange: 'refresh' } }, {}, null],
  // What was set aside is taken up without.
  ['a wider past', { options: { acceptPast: HOUR } }, {}, null],
  ['a narrower past', {}, { options: { acceptPast: HOUR } }, null],
  ['a wider future', { options: { acceptFuture: HOUR } }, { options: { acceptFuture: DAY } }, null],
  ['a narrower future', { options: { acceptFuture: DAY } }, { options: { acceptFuture: HOUR } }, null],
  ['merge_distance', {}, { options: { mergeDistance: 0 } }, null],
  ['max_ranges', {}, { options: { maxRanges: 1 } }, null],
  ['max_windows', {}, { options: { maxWindows: 1 } }, null],
  ['order', {}, { options: { order: 'oldest' } }, null],
  ['lookback', {}, { options: { lookback: HOUR } }, null],
  ['delay', { options: { delay: HOUR } }, {}, null],
  ['cadence', {}, { options: { cadence: 'window' } }, null],
  ['missed_ticks', {}, { options: { missedTicks: 'catch_up' } }, null],
  ['catch_up_max_runs', {}, { options: { catchUpMaxRuns: 9 } }, null],
  ['catch_up_max_lag', {}, { options: { catchUpMaxLag: HOUR } }, null],
  ['schedule_anchor', {}, { options: { scheduleAnchor: instant(1n) } }, null],
  ['schedule_start', {}, { options: { scheduleStart: instant(1n) } }, null],
  // These two have their effect through the compiled query.
  ['the option key', {}, { options: { key: ['key'] } }, null],
  ['the options window and time_column', {}, { options: { window: '1 hour', timeColumn: 'label' } }, null],
];

describe('whether a change makes everything dirty', () => {
  it.each(TABLE)('%s', (_what, before, after, reason) => {
    expect(rebuildOf(changed(BEFORE, before), changed(BEFORE, after))).toEqual(
      reason === null ? { rebuild: false, reason: KEPT } : { rebuild: true, reason },
    );
  });

  it('is decided for every option', () => {
    const decided = new Set(
      TABLE.flatMap(([, before, after]) => [...Object.keys(before.options ?? {}), ...Object.keys(after.options ?? {})]),
    );
    expect([...decided].sort()).toEqual(Object.keys(DEFAULT_OPTIONS).sort());
  });
});
