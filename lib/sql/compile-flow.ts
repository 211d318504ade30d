import { SluiceError } from '../errors.ts';
import type {
  CompiledHistory,
  CompiledQuery,
  CompiledWindow,
  FlowDefinition,
  TimeColumnType,
} from '../flow/definition.ts';
import type { FlowInput } from '../flow/flow-input.ts';
import { checkCombinations, combinationWarnings } from '../flow/option-combinations.ts';
import { eachOnce } from '../flow/tables-read.ts';
import type { Frontend, QueryColumn } from '../frontend/frontend.ts';
import { type Analysis, analyseQuery } from './analyse-query.ts';
import { describeTemplate } from './check-template.ts';
import { inputsOf, type QueryInput, readingWarnings } from './inputs.ts';
import { checkColumns, checkOutputNames, MAX_KEYS } from './output-columns.ts';
import type { Output } from './query-model.ts';
import { rowKey } from './row-key.ts';
import { refuseComparedWords } from './run-time-words.ts';
import { matchSink, newSink } from './sink-match.ts';
import { invalidQuery } from './source-text.ts';
import { cutAtHoles, splice } from './splice.ts';
import { branchesOf } from './tree.ts';
import { verifyTemplate } from './verify-template.ts';
import { tablesBeneath } from './views.ts';

/** Stored with each compiled query. Higher at every change of what the same query compiles to. */
const COMPILER_VERSION = 1;

/** A definition before it has taken effect. */
export type FlowDraft = Omit<FlowDefinition, 'generation'>;

export interface CompiledFlow {
  readonly draft: FlowDraft;
  readonly inputs: readonly QueryInput[];
  readonly warnings: readonly string[];
  readonly sinkExists: boolean;
}

/**
 * Turns what the user wrote into what a tick runs: finds the window, injects the filter at its scans, qualifies names, and
 * checks the result with the database and the sink. Stores nothing.
 *
 * Throws `invalid_query` (with the position in the query's text where there is one), `sink_mismatch`, `unsupported_server`, and
 * what the frontend throws.
 */
export async function compileFlow(input: FlowInput, frontend: Frontend): Promise<CompiledFlow> {
  checkCombinations(input);
  await frontend.checkServer();
  try {
    return await compile(input, frontend);
  } catch (error) {
    throw overflowed(error);
  }
}

async function compile(input: FlowInput, frontend: Frontend): Promise<CompiledFlow> {
  const analysis = await analyseQuery(input, frontend);
  const { source, select, window, changes, plainChanges } = analysis;
  const outputs = namedOutputs(analysis);
  checkOutputNames(source, outputs ?? []);
  const plain = splice(
    source,
    plainChanges.map(({ edit }) => edit),
  );
  const template =
    changes === plainChanges
      ? plain
      : splice(
          source,
          changes.map(({ edit }) => edit),
        );
  await verifyTemplate(template, select, changes);
  const columns = await describeTemplate(template, plain, input.options.timeZone, frontend);
  await refuseComparedWords(analysis, input.options.timeZone, frontend);
  const sink = await frontend.describeSink(input.sink);
  checkColumns(source, columns, outputs);

  const compiledWindow = window === null ? null : windowOf(analysis, columns);
  const history = historyOf(analysis, columns);
  const known = keyNames(analysis, columns);
  const label = compiledWindow?.column ?? null;
  const keys = rowKey(known, input.options.key, columns, history?.column ?? null, label);
  if (compiledWindow === null && history === null) checkKeep(input, keys);
  const { sinkColumns, updateAt, placeholder } = sink === null ? newSink(columns) : matchSink(sink, columns, keys);
  const inputs = inputsOf(analysis);
  const sources = eachOnce(inputs);
  const compiled: CompiledQuery = {
    compiler: COMPILER_VERSION,
    ...cutAtHoles(template),
    window: compiledWindow,
    sources,
    beneath: tablesBeneath(analysis.views, sources),
    columns: columns.map(({ name }) => name),
    keys,
    history,
  };
  const { name, query, comment, expireAfter, evalInterval, options } = input;
  const draft: FlowDraft = {
    name,
    sink: input.sink,
    query,
    comment,
    expireAfter,
    evalInterval,
    options,
    compiled,
    sinkColumns,
    updateAt,
    placeholder,
  };
  const warnings = [
    ...analysis.warnings,
    ...recordingWarnings(analysis, compiled),
    ...(window === null ? [] : readingWarnings(inputs, compiled.beneath, input.options.onDimensionChange)),
    ...joiningWarnings(analysis),
    ...combinationWarnings(draft),
    ...(await unindexed(draft, frontend)),
    ...(await unwindowed(draft, frontend)),
  ];
  return { draft, inputs, warnings, sinkExists: sink !== null };
}

/** Output columns as the first branch of set operations names them. */
function namedOutputs({ model, select }: Analysis): readonly Output[] | null {
  const [leading] = branchesOf(select);
  return leading.valuesLists === undefined ? model.outputs(leading) : null;
}

const LABEL_TYPES: Readonly<Record<TimeColumnType, string>> = {
  timestamptz: 'timestamp with time zone',
  timestamp: 'timestamp without time zone',
  date: 'date',
};

function windowOf(analysis: Analysis, columns: readonly QueryColumn[]): CompiledWindow | null {
  const { source, window } = analysis;
  if (window === null) return null;
  const column = columns[window.index];
  const { spec, expression, argumentType, labelType } = window.meaning;
  // A column of a table may have a precision.
  if (column?.type.replace(/\(\d\)/, '') !== LABEL_TYPES[labelType]) {
    const location = namedOutputs(analysis)?.[window.index]?.location;
    throw invalidQuery(
      source,
      location,
      `the window's label is expected to be ${LABEL_TYPES[labelType]}, and the server gives ${column?.type ?? 'nothing'}; cast the time column to one type first`,
    );
  }
  return { spec, column: column.name, expression, argumentType };
}

function historyOf({ recording }: Analysis, columns: readonly QueryColumn[]): CompiledHistory | null {
  const column = recording === null ? undefined : columns[recording.index];
  return recording === null || column === undefined ? null : { column: column.name, expression: recording.expression };
}

function keyNames(analysis: Analysis, columns: readonly QueryColumn[]): string[] {
  const { source, window, keys } = analysis;
  const found = keys.flatMap((index) => columns[index] ?? []);
  const unfit = found.find(({ indexable }) => !indexable);
  if (window === null) return unfit !== undefined || found.length > MAX_KEYS ? [] : found.map(({ name }) => name);
  if (unfit !== undefined) {
    const index = columns.indexOf(unfit);
    const location = namedOutputs(analysis)?.[index]?.location;
    const message = `${JSON.stringify(unfit.name)} is a group key of type ${unfit.type}, which an index cannot hold; cast it to another type, such as text`;
    throw invalidQuery(source, location, message);
  }
  if (found.length > MAX_KEYS) {
    throw invalidQuery(
      source,
      0,
      `the query has ${found.length} group keys; an index, and so a sink's key, has at most ${MAX_KEYS}`,
    );
  }
  return found.map(({ name }) => name);
}

/** What a run no longer gives can only be kept apart from what it gives by a key. */
function checkKeep({ options }: FlowInput, keys: readonly string[]): void {
  if (options.onDelete !== 'keep' || keys.length > 0) return;
  throw new SluiceError(
    'invalid_option',
    "on_delete = 'keep' needs a key: without one, the rows of a run take the place of all earlier ones. Name the columns that identify a row by the option key.",
  );
}

function recordingWarnings({ recording }: Analysis, { history }: CompiledQuery): string[] {
  if (recording === null || history === null) return [];
  const column = JSON.stringify(history.column);
  const kept = `Each run keeps its rows under ${column}, its grid time; rows of other grid times stay as they are.`;
  switch (recording.grain) {
    case 'instant':
      return [kept];
    case 'hour':
      return [kept, `Should a clock show an hour twice, runs under the same ${column} take the place of each other.`];
    case 'day':
      return [kept, `Runs of one day have the same ${column}, and each takes the place of the one before.`];
    default:
      return recording.grain satisfies never;
  }
}

function joiningWarnings({ window }: Analysis): string[] {
  if (window?.joinedAbove !== true) return [];
  return ['Tables are joined to the grouped rows: should one group meet two of their rows, the flow is blocked.'];
}

async function unindexed(draft: FlowDraft, frontend: Frontend): Promise<string[]> {
  const missing = await frontend.missingIndex(draft);
  return missing.map(
    ({ table, statement }) =>
      `No index finds the rows of a window in ${table}: each plan reads the table. Create one: ${statement}`,
  );
}

async function unwindowed({ compiled, options }: FlowDraft, frontend: Frontend): Promise<string[]> {
  if (compiled.window === null || !(await frontend.hasUnwindowedRows({ compiled, options }))) return [];
  const columns = compiled.sources.flatMap(({ table, timeColumn }) =>
    timeColumn === null ? [] : [`${table}.${timeColumn}`],
  );
  return [`Rows whose ${columns.join(' or ')} is NULL or infinite belong to no window and are left out of the sink.`];
}

/** Trees are limited in depth, yet a call may come when little of the stack is left. */
function overflowed(error: unknown): unknown {
  if (!(error instanceof RangeError)) return error;
  return new SluiceError('invalid_query', 'the query is nested too deeply; write it with fewer levels', {
    cause: error,
  });
}
