import type { z } from 'zod';
import { countWindows, type Foreseen, foresee, rangesOfEverything, waitingRanges } from '../engine/dry-run.ts';
import { wouldFlush } from '../engine/flush.ts';
import { type CreateMode, existing, wouldCreate } from '../engine/lifecycle.ts';
import { type Change, type MarkedFlow, marksOfFlow, marksOfTable } from '../engine/marks.ts';
import { type Refresh, wouldRefresh } from '../engine/refresh.ts';
import type { FlowDefinition, TableName } from '../flow/definition.ts';
import type { FlowChange } from '../flow/flow-change.ts';
import type { FlowInput } from '../flow/flow-input.ts';
import { sinkNames } from '../flow/sink-names.ts';
import type { TimeRange } from '../window/time-range.ts';
import { altered, compiledInput, type Prepared } from './create-flow.ts';
import { someReaders } from './mark-readers.ts';
import type { dryRunAnswer } from './response-schemas.ts';
import type { Call, Outcome } from './route.ts';
import { inputsView, rangeView, renamedView, storedInputs } from './views.ts';

// Calls that were asked what they would do: they read, write nothing, and refuse what the call itself would refuse at once.

/** Ranges of one flow in an answer. */
const RANGES_SHOWN = 100;

type FlowDryRun = z.output<typeof dryRunAnswer>['flows'][number];

export async function dryCreate(call: Call, input: FlowInput, mode: CreateMode): Promise<Outcome> {
  return dryPrepared(call, await compiledInput(call, input, mode), mode, null);
}

export async function dryAlter(call: Call, name: string, change: FlowChange): Promise<Outcome> {
  return dryPrepared(call, await altered(call, name, change), 'or_replace', 'altered');
}

async function dryPrepared(
  call: Call,
  { draft, inputs, warnings }: Prepared,
  mode: CreateMode,
  shown: 'altered' | null,
): Promise<Outcome> {
  const { engine } = call.deps;
  const { outcome, rebuild, reason, sinkIsNew } = await wouldCreate(engine, draft, mode);
  const ranges = rebuild ? await rangesOfEverything(engine, draft, sinkIsNew) : [];
  const foreseen = await foresee(engine, { ...draft, generation: 0n }, ranges, sinkIsNew);
  return answer(warnings, [
    {
      ...flowOf(draft, ranges, false),
      outcome: shown ?? outcome,
      rebuild,
      rebuild_reason: reason,
      sink: sinkOf(draft, sinkIsNew ? 'created' : 'kept'),
      inputs: inputsView(inputs),
      ...foreseenView(draft, foreseen),
    },
  ]);
}

export async function dryDrop(call: Call, name: string, dropSink: boolean): Promise<Outcome> {
  const [definition, waiting] = await waitingOf(call, name);
  const { engine } = call.deps;
  const dropping = dropSink ? [engine.frontend(definition.options.connection).dropStatement(definition.sink)] : [];
  const sink = sinkOf(definition, dropSink ? 'dropped' : 'kept');
  return answer([], [{ ...waiting, outcome: 'dropped', sink, statements: dropping }]);
}

export async function dryPause(call: Call, name: string): Promise<Outcome> {
  return answer([], [{ ...(await waitingOf(call, name))[1], outcome: 'paused' }]);
}

export async function dryResume(call: Call, name: string): Promise<Outcome> {
  return answer([], [{ ...(await waitingOf(call, name))[1], outcome: 'resumed' }]);
}

/** The windows are those that wait: they would be forgotten, kept, or run. */
async function waitingOf({ deps }: Call, name: string): Promise<[FlowDefinition, Omit<FlowDryRun, 'outcome'>]> {
  const loaded = existing(name, await deps.engine.store.load(name, { limit: 100, order: 'newest' }));
  const { definition, more } = loaded;
  return [definition, flowOf(definition, waitingRanges(loaded), more)];
}

export async function dryFlush({ deps }: Call, name: string): Promise<Outcome> {
  const { before, range } = await wouldFlush(deps.engine, name);
  const { definition } = before;
  const ranges = range === null ? [] : [range];
  const foreseen = foreseenView(definition, await foresee(deps.engine, definition, ranges, false));
  return answer([], [{ ...flowOf(definition, ranges, false), outcome: 'flushed', ...foreseen }]);
}

export async function dryRefresh({ deps }: Call, name: string, refresh: Refresh): Promise<Outcome> {
  const { definition, ranges } = await wouldRefresh(deps.engine, name, refresh);
  const expected = await foresee(deps.engine, definition, ranges, false, refresh.force);
  const foreseen = foreseenView(definition, expected);
  return answer([], [{ ...flowOf(definition, ranges, false), outcome: 'refreshed', ...foreseen }]);
}

export async function dryMarkFlow({ deps }: Call, name: string, change: Change): Promise<Outcome> {
  return answerMarks({ deps }, [await marksOfFlow(deps.engine, name, change)]);
}

export async function dryMarkTable(
  { deps }: Call,
  connection: string,
  table: TableName,
  change: Change,
): Promise<Outcome> {
  const marks = await marksOfTable(deps.engine, connection, table, change);
  return answerMarks({ deps }, someReaders(marks, connection, table));
}

async function answerMarks({ deps }: Pick<Call, 'deps'>, marks: readonly MarkedFlow[]): Promise<Outcome> {
  const flows = await Promise.all(
    marks.map(async ({ flow, marked }) => {
      const { definition } = existing(flow, await deps.engine.store.load(flow, { limit: 1, order: 'newest' }));
      return { ...flowOf(definition, marked, false), outcome: 'marked' as const };
    }),
  );
  return answer([], flows);
}

function flowOf(
  definition: Omit<FlowDefinition, 'generation'>,
  ranges: readonly TimeRange[],
  more: boolean,
): Omit<FlowDryRun, 'outcome'> {
  const { name, compiled } = definition;
  return {
    name,
    rebuild: false,
    rebuild_reason: null,
    sink: sinkOf(definition, 'kept'),
    windows: {
      ranges: ranges.slice(0, RANGES_SHOWN).map(rangeView),
      more: more || ranges.length > RANGES_SHOWN,
      count: countWindows(compiled.window?.spec ?? null, ranges)?.toString() ?? null,
    },
    inputs: inputsView(storedInputs(compiled)),
    renamed: renamedView(definition),
    statements: [],
    rows_estimate: null,
    would_delete: null,
  };
}

function foreseenView(
  definition: Pick<FlowDefinition, 'compiled' | 'sinkColumns'>,
  { statements, rows, surplus }: Foreseen,
): Pick<FlowDryRun, 'statements' | 'rows_estimate' | 'would_delete'> {
  return {
    statements: [...statements],
    rows_estimate: rows?.toString() ?? null,
    would_delete: surplus && {
      count: surplus.count.toString(),
      columns: sinkNames(definition, definition.compiled.keys),
      keys: surplus.keys.map((values) => [...values]),
    },
  };
}

function sinkOf({ sink }: Pick<FlowDefinition, 'sink'>, becomes: FlowDryRun['sink']['becomes']): FlowDryRun['sink'] {
  return { schema: sink.schema, table: sink.table, becomes };
}

function answer(warnings: readonly string[], flows: FlowDryRun[]): Outcome {
  const body: z.output<typeof dryRunAnswer> = { dry_run: true, flows, warnings: [...warnings] };
  return { status: 200, body };
}
