import type { RangeVar, SelectStmt } from 'libpg-query';
import { SluiceError } from '../errors.ts';
import type { FlowInput } from '../flow/flow-input.ts';
import type { Frontend, Relation } from '../frontend/frontend.ts';
import { describeTemplate } from './check-template.ts';
import { UNNAMED } from './column-name.ts';
import {
  bindNow,
  type Change,
  completeDateBins,
  dropOrderBy,
  filterScan,
  qualify,
  qualifyFunctions,
  unqualifyColumns,
} from './edits.ts';
import { type FoundWindow, findWindow } from './find-window.ts';
import { resolveFunctions } from './functions.ts';
import { aggregatesOf, keyColumns } from './group-keys.ts';
import { rowMultiplier } from './multiplied-rows.ts';
import type { NoWindow } from './no-window.ts';
import { nowCalls } from './now-calls.ts';
import { optionWindow } from './option-window.ts';
import { orderIsIdle } from './order-by.ts';
import { createQueryModel, type QueryModel } from './query-model.ts';
import { parseQuery } from './query-shape.ts';
import { findRecording, type Recording } from './recording.ts';
import { collectReferences } from './references.ts';
import { resolveRelations } from './resolve-relations.ts';
import { refuseCastWords } from './run-time-words.ts';
import { invalidQuery, type SourceText } from './source-text.ts';
import { splice } from './splice.ts';
import { branchesOf, nodesUnder } from './tree.ts';
import { loadViews, type Views } from './views.ts';

/** All that is known of a query before the server has seen what becomes of it. */
export interface Analysis {
  readonly source: SourceText;
  /** Without an ORDER BY that does nothing. */
  readonly select: SelectStmt;
  readonly model: QueryModel;
  readonly relations: ReadonlyMap<RangeVar, Relation>;
  readonly views: Views;
  readonly window: FoundWindow | null;
  /** Output columns that identify a row, as indexes; empty where no key is known. */
  readonly keys: readonly number[];
  readonly recording: Recording | null;
  readonly changes: readonly Change[];
  /** The changes without filters: the user's query as it stands. */
  readonly plainChanges: readonly Change[];
  readonly warnings: readonly string[];
}

type Wanted = Pick<FlowInput, 'query' | 'sink' | 'evalInterval' | 'expireAfter' | 'options'>;

/** Throws `invalid_query`. */
export async function analyseQuery(input: Wanted, frontend: Frontend): Promise<Analysis> {
  const { source, select: written } = await parseQuery(input.query);
  const relations = await resolveRelations(source, collectReferences(written), input.sink, frontend);
  const views = await loadViews(source, relations, input.sink, frontend);
  const warnings: string[] = [];
  const ordered = createQueryModel(collectReferences(written), (reference) => relations.get(reference) ?? null);
  const dropped = orderIsIdle(ordered, written) ? dropOrderBy(source, written) : null;
  const select = dropped === null ? written : withoutOrder(written);
  if (dropped !== null) warnings.push('ORDER BY is left out: the rows of a sink have no order.');
  const references = collectReferences(select);
  const functions = await resolveFunctions(source, select, frontend);
  const model = createQueryModel(
    references,
    (reference) => relations.get(reference) ?? null,
    (call) => functions.get(call) ?? null,
  );
  const nows = nowCalls(source, select);
  checkClock(source, select, nows, input);
  if (dropped !== null) await checkAsWritten(source, written, input, frontend);

  const shared = [
    ...(dropped === null ? [] : [dropped]),
    ...(await completeDateBins(source, select)),
    ...qualifyFunctions(functions),
    ...(await Promise.all(nows.map(bindNow))),
  ];
  const plainChanges = [...shared, ...references.relations.map((reference) => qualified(source, reference, relations))];
  const window = await orServersRefusal(source, plainChanges, input, frontend, () =>
    decideWindow(source, model, select, nows.length > 0, input, warnings),
  );
  const recording = nows.length === 0 ? null : findRecording(source, model, select, nows);
  const keys = window?.keys ?? plainKeys(model, select);
  const filters = window?.filters ?? new Map();
  const changes =
    filters.size === 0
      ? plainChanges
      : [
          ...shared,
          ...unqualifyColumns(source, select, relations, filters.keys()),
          ...(await Promise.all(
            references.relations.map(async (reference) => {
              const filter = filters.get(reference);
              return filter === undefined ? qualified(source, reference, relations) : filterScan(source, filter);
            }),
          )),
        ];
  const used = new Map(references.relations.map((reference) => [reference, known(relations, reference)]));
  return { source, select, model, relations: used, views, window, keys, recording, changes, plainChanges, warnings };
}

/** What is wrong with an ORDER BY is said before it is left out. */
async function checkAsWritten(
  source: SourceText,
  written: SelectStmt,
  { options }: Wanted,
  frontend: Frontend,
): Promise<void> {
  const asWritten = splice(
    source,
    (await completeDateBins(source, written)).map(({ edit }) => edit),
  );
  await describeTemplate(asWritten, asWritten, options.timeZone, frontend);
}

/** What the server refuses anyway, a column that does not exist say, is refused in its words rather than for want of a window. */
async function orServersRefusal<T>(
  source: SourceText,
  plainChanges: readonly Change[],
  { options }: Wanted,
  frontend: Frontend,
  decide: () => T,
): Promise<T> {
  try {
    return decide();
  } catch (refusal) {
    const plain = splice(
      source,
      plainChanges.map(({ edit }) => edit),
    );
    await describeTemplate(plain, plain, options.timeZone, frontend);
    throw refusal;
  }
}

function withoutOrder(select: SelectStmt): SelectStmt {
  const { sortClause: _, ...rest } = select;
  return rest;
}

function qualified(source: SourceText, reference: RangeVar, relations: ReadonlyMap<RangeVar, Relation>): Change {
  return qualify(source, reference, known(relations, reference));
}

function known(relations: ReadonlyMap<RangeVar, Relation>, reference: RangeVar): Relation {
  const relation = relations.get(reference);
  if (relation === undefined) throw new SluiceError('internal', 'a table of the query was not resolved');
  return relation;
}

function checkClock(
  source: SourceText,
  select: SelectStmt,
  nows: ReturnType<typeof nowCalls>,
  { evalInterval }: Wanted,
): void {
  refuseCastWords(source, select);
  const [now] = nows;
  if (now !== undefined && evalInterval === null) {
    throw invalidQuery(
      source,
      now.start,
      `${now.name} is another time at each run; give the flow an EVAL INTERVAL, which binds it to the grid`,
    );
  }
}

function decideWindow(
  source: SourceText,
  model: QueryModel,
  select: SelectStmt,
  usesNow: boolean,
  { evalInterval, expireAfter, options }: Wanted,
  warnings: string[],
): FoundWindow | null {
  const own = findWindow(model, select, options.timeZone);
  const { window, timeColumn } = options;
  const given = window === null || timeColumn === null ? null : { ...options, window, timeColumn };
  if (given !== null && 'meaning' in own) {
    const column = JSON.stringify(model.outputs(branchesOf(select)[0])?.[own.index]?.name);
    throw new SluiceError(
      'invalid_option',
      `The query computes its windows itself, in column ${column}; leave the options window and time_column out.`,
    );
  }
  const found = given === null || hopeless(own) ? own : optionWindow(model, select, given);
  if ('reason' in found) {
    if (found.hopeless) throw invalidQuery(source, found.location, found.reason);
    if (given !== null) {
      const hint = 'Without these options, and with an EVAL INTERVAL, the whole query is run every so often.';
      throw invalidQuery(source, found.location, found.reason, { hint });
    }
    if (evalInterval === null) throw invalidQuery(source, found.location, found.reason, { hint: hintFor(select) });
    if (expireAfter !== null) {
      throw invalidQuery(source, found.location, `EXPIRE AFTER needs a window: ${found.reason}`);
    }
    warnings.push(`The whole query is run at every eval interval: ${found.reason}.`);
    return null;
  }
  if (!usesNow) {
    if (given !== null && found.keys.length === 0 && !given.key.includes(given.timeColumn)) {
      const key = given.key.join(', ');
      warnings.push(
        `A row is known by (${key}) alone: should the query give one key in two windows, the sink holds the row of the later plan. Add ${given.timeColumn} to key if that is not meant.`,
      );
    }
    return found;
  }
  if (expireAfter !== null) {
    throw invalidQuery(
      source,
      -1,
      'EXPIRE AFTER does not go with now() in the query: windows change without a mark, so the whole query is run',
    );
  }
  warnings.push('The whole query is run at every eval interval: with now() in it, windows change without a mark.');
  return null;
}

function hopeless(found: FoundWindow | NoWindow): boolean {
  return 'reason' in found && found.hopeless;
}

function hintFor(select: SelectStmt): string {
  const whole = 'With an EVAL INTERVAL the whole query is run every so often, and needs no window.';
  for (const { kind, node } of nodesUnder({ SelectStmt: select })) {
    if (kind === 'SelectStmt' && (node['groupClause'] !== undefined || node['distinctClause'] !== undefined))
      return whole;
  }
  return `A query that does not aggregate is cut by options: WITH (window = '1 hour', time_column = time, key = (id)), where time is a column of a table, passed up as it is. ${whole}`;
}

/** Of a query that is run whole. A row's key is taken only where it is certain. */
function plainKeys(model: QueryModel, select: SelectStmt): readonly number[] {
  const outputs = model.outputs(select) ?? [];
  for (const [index, { name }] of outputs.entries()) {
    const aggregate =
      name === UNNAMED ? undefined : aggregatesOf(model, select, index).find(({ distinct }) => !distinct);
    if (aggregate === undefined || aggregate.joined) continue;
    if (model.groupItems(aggregate.select).some(({ kind }) => kind === 'grouping_sets')) return [];
    if (rowMultiplier(model, select, aggregate) !== null) return [];
    const keys = keyColumns(model, select, aggregate, null);
    return 'length' in keys ? keys : [];
  }
  return [];
}
