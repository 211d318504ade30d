import { z } from 'zod';
import type { Change } from '../engine/marks.ts';
import { instantInput } from './instant-schema.ts';
import { strictObject } from './strict-object.ts';

/** Of `timestamps`, and of `ranges`, in one request: each may become one write for each flow, and a request has half a minute. */
export const MOST_MARKS = 5_000;

const tooMany = `at most ${MOST_MARKS} in one request; split them into several`;

export const markFields = {
  timestamps: z
    .array(instantInput)
    .max(MOST_MARKS, tooMany)
    .optional()
    .describe('Times of rows that changed. The window that holds each becomes dirty.'),
  ranges: z
    .array(z.tuple([instantInput, instantInput]))
    .max(MOST_MARKS, tooMany)
    .optional()
    .describe('Ranges [from, to) in which rows changed; `to` does not belong to it. Each is widened to whole windows.'),
};

/** The body of both dirty-windows calls, and what a mark event holds beside its addressee. */
export const markBody = strictObject(markFields).superRefine(checkMarks);

export function checkMarks(body: MarkFields, context: z.RefinementCtx): void {
  const { timestamps = [], ranges = [] } = body;
  if (timestamps.length === 0 && ranges.length === 0) {
    context.addIssue({ code: 'custom', message: 'nothing to mark: give timestamps, ranges or both', input: body });
  }
  for (const [index, [from, to]] of ranges.entries()) {
    if (from < to) continue;
    const length = from === to ? 'zero' : 'negative';
    context.addIssue({
      code: 'custom',
      path: ['ranges', index],
      message: `the range has ${length} length; "from" must be earlier than "to", which does not belong to the range`,
      input: ranges[index],
    });
  }
}

/** Of a refresh. */
export const refreshBody = strictObject({
  ranges: z
    .array(z.tuple([instantInput, instantInput]))
    .min(1)
    .max(MOST_MARKS, tooMany)
    .describe(
      'Ranges [from, to) whose windows are computed anew; `to` does not belong to it. Each is widened to whole windows.',
    ),
  force: z
    .boolean()
    .optional()
    .describe('Also windows that no plan would take otherwise: past EXPIRE AFTER, frozen, not accepted, or too young.'),
}).superRefine(checkMarks);

interface MarkFields {
  readonly timestamps?: z.output<typeof markFields.timestamps>;
  readonly ranges?: z.output<typeof markFields.ranges>;
}

export function changeOf({ timestamps = [], ranges = [] }: MarkFields): Change {
  return { timestamps, ranges: ranges.map(([start, end]) => ({ start, end })) };
}
