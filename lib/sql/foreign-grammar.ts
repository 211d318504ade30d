import { SluiceError } from '../errors.ts';
import { positionOf } from '../flow/text-position.ts';

const ELSEWHERE = 'is spoken by GreptimeDB and not by PostgreSQL, on which this flow runs';
const RATHER = "SELECT date_bin('5 minutes', ts) AS ts, host, avg(value) AS value FROM metrics GROUP BY 1, 2";

/** After comments, or as a WITH query. PostgreSQL's own lexer does not get past the durations of PromQL. */
const TQL =
  /(?:^(?:\s|--[^\n]*\n|\/\*(?:[^*]|\*(?!\/))*\*\/)*|\bas\s*\(\s*)(tql)\s+(?:eval|evaluate|explain|analyze)\b/di;
const RANGE = /\b(range)\s*(?:'|\(|interval\b)/di;
const ALIGN = /\b(align)\s*(?:'|\(|interval\b)/di;

/**
 * What to say of a query that PostgreSQL cannot parse because it is written in GreptimeDB's grammar: TQL, or RANGE … ALIGN. null: it
 * is neither.
 */
export function foreignGrammar(query: string): SluiceError | null {
  const tql = indexOf(TQL, query);
  if (tql !== null) {
    const hint = 'A query without a window, such as one up to now(), runs whole with an EVAL INTERVAL.';
    return refusal(query, tql, `TQL ${ELSEWHERE}; write SQL: ${RATHER}`, hint);
  }
  const range = indexOf(RANGE, query);
  if (range === null || indexOf(ALIGN, query) === null) return null;
  const hint =
    'Where the range is longer than the step, join the rows to generate_series() of the steps and group by those, with an EVAL INTERVAL.';
  return refusal(query, range, `RANGE … ALIGN ${ELSEWHERE}; write ${RATHER}`, hint);
}

function refusal(query: string, index: number, message: string, hint: string): SluiceError {
  return new SluiceError('invalid_query', message, { details: { position: positionOf(query, index), hint } });
}

/** Of the word that the pattern is about. */
function indexOf(pattern: RegExp, query: string): number | null {
  return pattern.exec(query)?.indices?.[1]?.[0] ?? null;
}
