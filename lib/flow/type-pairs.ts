/**
 * Two types of a database of which the second holds every value of the first, exactly. Types as `format_type` spells them; `modifiers` are
 * the numbers in parentheses, which `to` may lack: then it holds all.
 */
export interface TypePair {
  readonly from: string;
  readonly to: string;
  /** For people: what must hold between the modifiers `n`, `p`, `s` of the first and `n'`, `p'`, `s'` of the second. */
  readonly condition: string | null;
  readonly fits: (from: readonly number[], to: readonly number[]) => boolean;
}

const always = (from: string, to: string): TypePair => ({ from, to, condition: null, fits: () => true });

const digits = (from: string, count: number): TypePair => ({
  from,
  to: 'numeric',
  condition: `p' - s' >= ${count}, s' >= 0`,
  fits: (_, [precision = 0, scale = 0]) => precision - scale >= count && scale >= 0,
});

const length = (from: string, to: string): TypePair => ({
  from,
  to,
  condition: "n' >= n",
  fits: ([own], [other]) => own !== undefined && other !== undefined && other >= own,
});

/** Digits of the second; 6 where the type does not say. */
const precision = (type: string): TypePair => ({
  from: type,
  to: type,
  condition: "p' >= p",
  fits: ([own = 6], [other = 6]) => other >= own,
});

export const TYPE_PAIRS: readonly TypePair[] = [
  always('smallint', 'integer'),
  always('smallint', 'bigint'),
  always('smallint', 'real'),
  always('smallint', 'double precision'),
  digits('smallint', 5),
  always('integer', 'bigint'),
  always('integer', 'double precision'),
  digits('integer', 10),
  digits('bigint', 19),
  always('real', 'double precision'),
  {
    from: 'numeric',
    to: 'numeric',
    condition: "p' - s' >= p - s, s' >= s",
    fits: ([p, s = 0], [q = 0, t = 0]) => p !== undefined && q - t >= p - s && t >= s,
  },
  length('character varying', 'character varying'),
  always('character varying', 'text'),
  { from: 'text', to: 'character varying', condition: "no n'", fits: () => false },
  length('character', 'character'),
  length('character', 'character varying'),
  always('character', 'text'),
  length('bit', 'bit varying'),
  length('bit varying', 'bit varying'),
  precision('time without time zone'),
  precision('time with time zone'),
  precision('timestamp without time zone'),
  precision('timestamp with time zone'),
  precision('interval'),
];

/** Whether every value of type `given` is a value of type `own`, by {@link TYPE_PAIRS}; of arrays, whether it is so of their elements. */
export function holdsEvery(own: string, given: string): boolean {
  if (own === given) return true;
  if (own.endsWith('[]') && given.endsWith('[]')) return holdsEvery(own.slice(0, -2), given.slice(0, -2));
  const from = partsOf(given);
  const to = partsOf(own);
  return TYPE_PAIRS.some(
    (pair) =>
      pair.from === from.base &&
      pair.to === to.base &&
      (to.modifiers.length === 0 || pair.fits(from.modifiers, to.modifiers)),
  );
}

/** `timestamp(3) with time zone` is of base `timestamp with time zone`. */
function partsOf(type: string): { readonly base: string; readonly modifiers: readonly number[] } {
  const found = /^([^(]*)\((-?\d+(?:,-?\d+)*)\)([^()]*)$/.exec(type);
  if (found === null) return { base: type, modifiers: [] };
  const [, before = '', numbers = '', after = ''] = found;
  return { base: before + after, modifiers: numbers.split(',').map(Number) };
}
