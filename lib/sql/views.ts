import type { RangeVar, SelectStmt } from 'libpg-query';
import { SluiceError } from '../errors.ts';
import type { CompiledSource, TableName } from '../flow/definition.ts';
import { eachOnce } from '../flow/tables-read.ts';
import type { Frontend, Relation } from '../frontend/frontend.ts';
import { resolveFunctions } from './functions.ts';
import { nowCalls } from './now-calls.ts';
import { parseText } from './pg-query.ts';
import { createQueryModel, type QueryModel } from './query-model.ts';
import { collectReferences } from './references.ts';
import { refuseCastWords } from './run-time-words.ts';
import { halfFiltered } from './scan-filters.ts';
import { invalidQuery, type SourceText, sourceText } from './source-text.ts';
import { traceTime } from './trace.ts';

/** What a view is made of, as it is now: a view that is replaced later is not looked at again. */
interface View {
  readonly relation: Relation;
  readonly select: SelectStmt;
  readonly model: QueryModel;
  readonly reads: ReadonlyMap<RangeVar, Relation>;
}

/** By schema and name. */
export type Views = ReadonlyMap<string, View>;

/**
 * Every view that the query reads, and those that they read. Throws `invalid_query` at the place where the query names one that reads
 * the sink, or that does not give the same rows each time it is asked.
 */
export async function loadViews(
  source: SourceText,
  relations: ReadonlyMap<RangeVar, Relation>,
  sink: TableName,
  frontend: Frontend,
): Promise<Views> {
  const views = new Map<string, View>();
  for (const [reference, relation] of relations) {
    const open = [relation];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      if (next.definition === null || views.has(keyOf(next))) continue;
      const refuse = refusing(source, reference, next);
      const view = await loadView(next, next.definition, refuse, frontend);
      if ([...view.reads.values()].some((each) => keyOf(each) === keyOf(sink))) {
        throw refuse('it reads the sink of this flow; a flow cannot read what it writes');
      }
      views.set(keyOf(next), view);
      open.push(...view.reads.values());
    }
  }
  return views;
}

/** The tables beneath the views that a query reads by these time columns; null: read whole. */
export function tablesBeneath(views: Views, sources: readonly CompiledSource[]): CompiledSource[] {
  const found: CompiledSource[] = [];
  const open = [...sources];
  // A view cannot read itself, so this ends.
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const view = views.get(keyOf(next));
    if (view === undefined) continue;
    const read = readings(view, next.timeColumn);
    found.push(...read);
    open.push(...read);
  }
  return eachOnce(found);
}

function readings({ relation, select, model, reads }: View, timeColumn: string | null): CompiledSource[] {
  const index = relation.columns.findIndex(({ name }) => name === timeColumn);
  const trace = index === -1 ? null : traceTime(model, select, index);
  const passes = trace !== null && trace.blockers.length === 0 && halfFiltered(model, trace.passed).length === 0;
  return [...reads].map(([reference, { schema, table }]) => {
    const scan = passes ? trace.scans.find((each) => each.reference === reference) : undefined;
    return { schema, table, timeColumn: scan?.column.name ?? null };
  });
}

type Refuse = (reason: string, cause?: unknown) => SluiceError;

async function loadView(relation: Relation, definition: string, refuse: Refuse, frontend: Frontend): Promise<View> {
  const { tree, tokens } = await parseText(definition);
  const source = sourceText(definition, tokens);
  const statement = tree.stmts?.[0]?.stmt;
  if (statement === undefined || !('SelectStmt' in statement)) throw refuse('its definition is not a SELECT');
  const select = statement.SelectStmt;
  const [now] = nowCalls(source, select);
  if (now !== undefined) {
    throw refuse(`it uses ${now.name}, which can be bound to a grid time only where the query itself uses it`);
  }
  const functions = await refusedAs(refuse, async () => {
    refuseCastWords(source, select);
    return await resolveFunctions(source, select, frontend);
  });
  const references = collectReferences(select);
  const names = references.relations.map(({ schemaname, relname }) => ({
    schema: schemaname ?? null,
    table: relname ?? '',
  }));
  const found = names.length === 0 ? [] : await frontend.describeRelations(names);
  const reads = new Map<RangeVar, Relation>();
  for (const [index, reference] of references.relations.entries()) {
    const each = found[index] ?? null;
    if (each === null) throw refuse(`it reads ${reference.relname}, which is gone by now; try again`);
    reads.set(reference, each);
  }
  const model = createQueryModel(
    references,
    (reference) => reads.get(reference) ?? null,
    (call) => functions.get(call) ?? null,
  );
  return { relation, select, model, reads };
}

/** A position inside of the view's definition means nothing to who wrote the query. */
async function refusedAs<T>(refuse: Refuse, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof SluiceError) || error.code !== 'invalid_query') throw error;
    throw refuse(error.message, error);
  }
}

function refusing(source: SourceText, { location }: RangeVar, { schema, table }: Relation): Refuse {
  return (reason, cause) => {
    const hint = 'Write the query of the view in place of its name, as WITH name AS (…), and change it there.';
    const error = invalidQuery(source, location, `the view ${JSON.stringify(`${schema}.${table}`)}: ${reason}`, {
      hint,
    });
    return cause === undefined ? error : new SluiceError(error.code, error.message, { cause, details: error.details });
  };
}

function keyOf({ schema, table }: TableName): string {
  return JSON.stringify([schema, table]);
}
