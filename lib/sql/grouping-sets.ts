import type { GroupingSet, Node } from 'libpg-query';

/** PostgreSQL's own limit. */
export const MAX_SETS = 4096;

/**
 * The sets that ROLLUP, CUBE, GROUPING SETS or `()` stand for; null where they are too many. `itemsOf` gives the group items of what
 * is written in one place, which may be a list in brackets.
 */
export function groupingSets<Item>(
  { kind, content = [] }: GroupingSet,
  itemsOf: (node: Node) => readonly Item[],
): readonly (readonly Item[])[] | null {
  const parts = () => content.map(itemsOf);
  switch (kind) {
    case 'GROUPING_SET_ROLLUP':
      return [...content.keys(), content.length].toReversed().map((length) => parts().slice(0, length).flat());
    case 'GROUPING_SET_CUBE':
      if (2 ** content.length > MAX_SETS) return null;
      return parts().reduce<Item[][]>((sets, part) => sets.flatMap((set) => [[...set, ...part], set]), [[]]);
    case 'GROUPING_SET_SETS': {
      const sets = content.map((node) =>
        'GroupingSet' in node ? groupingSets(node.GroupingSet, itemsOf) : [itemsOf(node)],
      );
      const all = sets.every((each) => each !== null) ? sets.flat() : null;
      return all === null || all.length > MAX_SETS ? null : all;
    }
    default:
      return [parts().flat()];
  }
}
