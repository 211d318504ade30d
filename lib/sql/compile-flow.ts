import type { FlowInput } from '../flow/flow-input.ts';
import type { CompiledQuery, CompiledWindow, FlowDefinition, QueryHole } from '../flow/definition.ts';
import type { Frontend, Relation } from '../frontend/frontend.ts';
import type { RangeVar } from 'libpg-query';
import { parseQuery } from './query-shape.ts';
import { collectReferences } from './references.ts';
import { createQueryModel } from './query-model.ts';
import { traceWindow } from './trace.ts';
import { windowMeaning } from './window-definition.ts';
import { invalidQuery, pastName, sliceBytes, tokenIndexAt } from './source-text.ts';
import { quoteIdentifier } from './sql-literal.ts';

export type FlowDraft = Omit<FlowDefinition, 'generation'>;

export async function compileFlow(
  input: FlowInput,
  frontend: Frontend,
): Promise<{ draft: FlowDraft; warnings: string[]; sinkExists: boolean }> {
  await frontend.checkServer();
  const { source, select } = await parseQuery(input.query);
  const references = collectReferences(select);
  const found = await frontend.describeRelations(
    references.relations.map((r) => ({ schema: r.schemaname ?? null, table: r.relname ?? '' })),
  );
  const relations = new Map<RangeVar, Relation>();
  references.relations.forEach((reference, index) => {
    const relation = found[index];
    if (relation == null) throw invalidQuery(source, reference.location, `relation ${reference.relname} does not exist`);
    relations.set(reference, relation);
  });
  const model = createQueryModel(references, (reference) => relations.get(reference) ?? null);
  const outputs = model.outputs(select) ?? [];
  const keys: string[] = [];
  let window: CompiledWindow | null = null;
  const scans = new Map<RangeVar, { column: string; type: 'timestamptz' | 'timestamp' | 'date' }>();
  const items = model.groupItems(select);
  outputs.forEach((output, index) => {
    const canonical = model.canonicalOutput(select, output);
    const grouped = items.some(
      (item) => (item.kind === 'output' && item.index === index) || model.canonicalItem(select, item) === canonical,
    );
    if (!grouped || output.name === null) return;
    keys.push(output.name);
    const trace = traceWindow(model, select, index);
    const first = trace?.calls[0];
    if (!trace || !first || window !== null) return;
    const blocked = trace.blockers[0];
    if (blocked) throw invalidQuery(source, blocked.location, `a filter would change the answer: ${blocked.reason}`);
    const column = first.scans[0]?.column.timeType;
    if (column == null) throw invalidQuery(source, first.call.location, 'the window is not over a time column');
    const meaning = windowMeaning({ ...first, column }, input.options.timeZone);
    if ('obstacle' in meaning) throw invalidQuery(source, first.call.location, meaning.obstacle);
    if ('bad' in meaning) throw invalidQuery(source, first.call.location, meaning.bad);
    window = { spec: meaning.spec, column: output.name, expression: meaning.expression, argumentType: meaning.argumentType };
    for (const scan of trace.calls.flatMap((call) => call.scans)) {
      scans.set(scan.reference, { column: scan.column.name, type: scan.column.timeType ?? 'timestamptz' });
    }
  });
  if (window === null && input.evalInterval === null) {
    throw invalidQuery(source, 0, 'the query has no window expression; add EVAL INTERVAL');
  }
  const key = (window as CompiledWindow | null)?.column;
  const text: string[] = [];
  const holes: QueryHole[] = [];
  let at = 0;
  let open = '';
  for (const reference of references.relations) {
    const relation = relations.get(reference);
    if (relation === undefined) continue;
    const from = tokenIndexAt(source, reference.location ?? 0);
    const start = source.tokens[from]?.start ?? 0;
    const end = source.tokens[pastName(source, from) - 1]?.end ?? 0;
    const name = `${quoteIdentifier(relation.schema)}.${quoteIdentifier(relation.table)}`;
    open += sliceBytes(source.bytes, at, start);
    const scan = scans.get(reference);
    const alias = reference.alias === undefined ? ` AS ${quoteIdentifier(relation.table)}` : '';
    if (scan === undefined) open += `${name}${alias}`;
    else {
      text.push(`${open}(SELECT * FROM ${name} WHERE `);
      holes.push({ kind: 'filter', column: `${quoteIdentifier(relation.table)}.${quoteIdentifier(scan.column)}`, type: scan.type });
      open = `)${alias}`;
    }
    at = end;
  }
  text.push(open + sliceBytes(source.bytes, at));
  const names = outputs.map((output) => output.name ?? '?column?');
  const compiled: CompiledQuery = {
    compiler: 1,
    text,
    holes,
    window,
    sources: [...relations].map(([reference, { schema, table }]) => ({
      schema,
      table,
      timeColumn: scans.get(reference)?.column ?? null,
    })),
    columns: names,
    keys: key === undefined ? keys : [key, ...keys.filter((each) => each !== key)],
  };
  const sinkColumns = await frontend.describeQuery(text.join('TRUE'), input.options.timeZone);
  const sink = await frontend.describeSink(input.sink);
  const { name, query, comment, expireAfter, evalInterval, options } = input;
  const draft = { name, sink: input.sink, query, comment, expireAfter, evalInterval, options, compiled, sinkColumns, updateAt: !names.includes('update_at') };
  return { draft, warnings: [], sinkExists: sink !== null };
}
