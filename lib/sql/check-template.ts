import { SluiceError } from '../errors.ts';
import type { QueryHole } from '../flow/definition.ts';
import type { Frontend, QueryColumn } from '../frontend/frontend.ts';
import { probe } from './edits.ts';
import { positionInSource, renderTemplate, type Template } from './splice.ts';

/**
 * Asks the server for the columns of the template. An error of the user's own query is told as the server tells it, at its place
 * in the user's text; one that only the filter brings about says so.
 */
export async function describeTemplate(
  template: Template,
  unfiltered: Template,
  timeZone: string,
  frontend: Frontend,
): Promise<readonly QueryColumn[]> {
  try {
    return await describe(template, timeZone, frontend);
  } catch (error) {
    if (!(error instanceof SluiceError) || error.code !== 'invalid_query' || template === unfiltered) throw error;
    await describe(unfiltered, timeZone, frontend);
    throw onlyFiltered(error);
  }
}

async function describe(template: Template, timeZone: string, frontend: Frontend): Promise<readonly QueryColumn[]> {
  const fill = (hole: QueryHole) => probe(hole);
  try {
    return await frontend.describeQuery(renderTemplate(template, fill), timeZone);
  } catch (error) {
    throw placed(error, template, fill);
  }
}

function placed(error: unknown, template: Template, fill: (hole: QueryHole) => string): unknown {
  if (!(error instanceof SluiceError) || error.details.position === undefined) return error;
  const position = positionInSource(template, fill, error.details.position);
  return new SluiceError(error.code, error.message, {
    retryable: error.retryable,
    cause: error.cause,
    details: { ...error.details, position },
  });
}

function onlyFiltered(error: SluiceError): SluiceError {
  return new SluiceError('invalid_query', `the query cannot be filtered by window: ${error.message}`, {
    cause: error,
    details: {
      ...error.details,
      hint: 'Sluice reads the table through a subquery: give it an alias, qualify its columns by that alias, group by every column that is selected, and leave out its system columns.',
    },
  });
}
