import { SluiceError } from '../errors.ts';
import type { FlowDefinition } from './definition.ts';

/** The sink's columns that take these columns of the query. */
export function sinkNames(
  { compiled, sinkColumns }: Pick<FlowDefinition, 'compiled' | 'sinkColumns'>,
  outputs: readonly string[],
): string[] {
  return outputs.map((output) => {
    const name = sinkColumns[compiled.columns.indexOf(output)]?.name;
    if (name === undefined) {
      throw new SluiceError('internal', 'the flow does not say which column of the sink takes a column of its query');
    }
    return name;
  });
}
