import { z } from 'zod';
import type { EngineDeps } from '../engine/deps.ts';
import { type MarkedFlow, markFlow } from '../engine/marks.ts';
import { DEFAULT_OPTIONS } from '../flow/options.ts';
import { checkInput } from './check-input.ts';
import { markReaders } from './mark-readers.ts';
import { changeOf, checkMarks, markFields } from './mark-schema.ts';
import { checkFlowName, parseTablePath } from './names.ts';
import { strictObject } from './strict-object.ts';

/** Detail of a `Sluice Mark` event: the body of a dirty-windows call, and to whom it goes. */
const markEvent = strictObject({
  flow: z.string().optional(),
  table: z.string().optional(),
  connection: z.string().min(1).optional(),
  ...markFields,
}).superRefine((detail, context) => {
  checkMarks(detail, context);
  if ((detail.flow === undefined) === (detail.table === undefined)) {
    context.addIssue({ code: 'custom', message: 'give either flow or table', input: detail });
  }
  if (detail.flow !== undefined && detail.connection !== undefined) {
    context.addIssue({ code: 'custom', path: ['connection'], message: 'belongs to table, not to flow', input: detail });
  }
});

/** Throws `invalid_request`, `flow_not_found`, `table_not_found`, and what the store throws. */
export async function applyMarkEvent(engine: EngineDeps, detail: unknown): Promise<readonly MarkedFlow[]> {
  const { flow, table, connection, ...marks } = checkInput(markEvent, detail, 'detail');
  const change = changeOf(marks);
  if (flow !== undefined) return [await markFlow(engine, checkFlowName(flow), change)];
  return markReaders(engine, connection ?? DEFAULT_OPTIONS.connection, parseTablePath(table ?? ''), change);
}
