import { z } from 'zod';
import { strictObject } from './strict-object.ts';

export const DRY_RUN =
  '`true`: nothing is changed, and the answer says what would be touched. What the call would refuse is refused too.';

/** Parameters of every call that changes something. */
export const dryRunParameters = {
  dryRun: z
    .enum(['true', 'false'])
    .default('false')
    .transform((text) => text === 'true')
    .describe(DRY_RUN),
};

export const dryRunQuery = strictObject(dryRunParameters);
