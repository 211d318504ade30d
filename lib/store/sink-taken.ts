import { SluiceError } from '../errors.ts';
import type { TableName } from '../flow/definition.ts';

export function sinkTaken(sink: TableName, holder: string): SluiceError {
  return new SluiceError(
    'sink_taken',
    `table ${sink.schema}.${sink.table} is the sink of flow ${holder}; give this flow a sink of its own`,
    { details: { holder } },
  );
}
