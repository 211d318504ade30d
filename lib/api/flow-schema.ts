import { z } from 'zod';
import { strictObject } from './strict-object.ts';

const optionalClauses = {
  expire_after: z
    .string()
    .nullable()
    .optional()
    .describe('Age past which windows are neither refreshed nor marked: an interval.'),
  eval_interval: z
    .string()
    .nullable()
    .optional()
    .describe('Run every so often on a fixed grid, with now() bound to the grid time: an interval of whole minutes.'),
  comment: z.string().nullable().optional(),
};

const optionValues = z.record(z.string(), z.union([z.string(), z.number(), z.array(z.string()), z.null()]));

/**
 * Shape of a flow in JSON. What the texts in it mean, and which options there are, is for `flowInputFromJson` to say, which
 * also reads statements.
 */
export const flowBody = strictObject({
  sink: z
    .union([z.string(), strictObject({ schema: z.string().nullable().optional(), table: z.string() })])
    .describe('Table that holds the result: a name as in SQL, or its parts as the database has them.'),
  query: z.string().describe('One SELECT, at most 64 KB.'),
  ...optionalClauses,
  options: optionValues.optional().describe('By name, as in WITH (…). Those left out, or null, have their defaults.'),
});

/** What ALTER FLOW changes, as a merge patch of {@link flowBody}. */
export const flowPatchBody = strictObject({
  ...optionalClauses,
  options: optionValues
    .optional()
    .describe('By name, as in WITH (…). Those left out stay; null resets to the default.'),
}).refine((body) => Object.keys(body).length > 0, 'nothing to change: give at least one field');
