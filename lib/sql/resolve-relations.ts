import type { RangeVar } from 'libpg-query';
import type { TableName } from '../flow/definition.ts';
import type { Frontend, Relation } from '../frontend/frontend.ts';
import type { References } from './references.ts';
import { invalidQuery, type SourceText } from './source-text.ts';

/** Every table that the query names, as the database knows it. Throws `invalid_query` for the first that it does not know. */
export async function resolveRelations(
  source: SourceText,
  references: References,
  sink: TableName,
  frontend: Frontend,
): Promise<ReadonlyMap<RangeVar, Relation>> {
  for (const { catalogname, location } of references.relations) {
    if (catalogname === undefined) continue;
    throw invalidQuery(
      source,
      location,
      `a table of another database (${JSON.stringify(catalogname)}) cannot be read; name it by schema and table`,
    );
  }
  const names = references.relations.map(({ schemaname, relname }) => ({
    schema: schemaname ?? null,
    table: relname ?? '',
  }));
  const found = names.length === 0 ? [] : await frontend.describeRelations(names);
  const relations = new Map<RangeVar, Relation>();
  for (const [index, reference] of references.relations.entries()) {
    const relation = found[index] ?? null;
    const name = [reference.schemaname, reference.relname].filter((part) => part !== undefined).join('.');
    if (relation === null) {
      const hint =
        reference.schemaname === undefined
          ? 'Name its schema if it is not public.'
          : 'Check its spelling, and case if it is quoted.';
      throw invalidQuery(source, reference.location, `there is no table or view ${JSON.stringify(name)}`, { hint });
    }
    if (relation.schema === sink.schema && relation.table === sink.table) {
      throw invalidQuery(
        source,
        reference.location,
        `${JSON.stringify(name)} is the sink of this flow; a flow cannot read what it writes`,
      );
    }
    relations.set(reference, relation);
  }
  return relations;
}
