import { z } from 'zod';
import { instantOutput, integer64 } from './instant-schema.ts';

/** Schemas of answers, by the names under which `openapi.json` holds them. */
export const answers = z.registry<{ id: string }>();

function answer<S extends z.ZodType>(id: string, schema: S): S {
  answers.add(schema, { id });
  return schema;
}

const range = answer(
  'Range',
  z.tuple([instantOutput, instantOutput]).describe('[from, to): the second does not belong to it.'),
);

const tableName = answer('TableName', z.strictObject({ schema: z.string(), table: z.string() }));

const runError = answer('RunError', z.strictObject({ code: z.string(), message: z.string(), at: instantOutput }));

const coverage = z.enum(['unfiltered_full', 'scoped_base_repair', 'fenced_repair_chunk', 'incremental_delta']);

export const errorAnswer = answer(
  'Error',
  z.strictObject({
    error: z.strictObject({
      code: z.string().describe('One of a fixed list; the runbook has an entry for each.'),
      message: z.string().describe('What was given, what was expected, and what to do.'),
      retryable: z.boolean().describe('True where the same request may succeed later.'),
      position: z.int().optional().describe('1-based position of a character in the SQL text that was sent.'),
      holder: z.string().optional().describe('Who holds what the request wanted.'),
      problems: z.array(z.string()).optional().describe('Each finding by itself.'),
      hint: z.string().optional(),
      request_id: z.string(),
    }),
  }),
);

const sources = z
  .array(tableName.extend({ time_column: z.string().nullable() }))
  .describe(
    'Tables that the query reads, also through views; null: a change of this one is not known to belong to a window.',
  );

const inputs = z
  .array(
    tableName.extend({
      alias: z.string().nullable(),
      filtered: z.boolean().describe('False: the whole table is read by each plan.'),
      time_column: z.string().nullable().describe('Column that is filtered by window.'),
    }),
  )
  .describe(
    'Each reading of a table by the query, in its order. Of a flow whose query was not looked at again: each table once, by no alias.',
  );

export const flowAnswer = answer(
  'Flow',
  z.strictObject({
    name: z.string(),
    sink: tableName,
    query: z.string().describe('The text after AS.'),
    comment: z.string().nullable(),
    expire_after: z.string().nullable().describe('An interval, as the flow was created with.'),
    eval_interval: z.string().nullable().describe('An interval, as the flow was created with.'),
    options: z
      .record(z.string(), z.union([z.string(), z.number(), z.array(z.string()).readonly(), z.null()]))
      .describe('Every option by its name, with its default where the flow does not say; null: none.'),
    window: z
      .strictObject({
        column: z.string().describe("Column of the sink that holds the window's label."),
        unit: z.string().describe('Length of a window: an interval, or a calendar unit.'),
        zone: z.string().nullable().describe('Zone whose calendar cuts the windows; null where the length is fixed.'),
      })
      .nullable()
      .describe('null: the query has no window expression and is run whole.'),
    sources,
    columns: z.array(z.strictObject({ name: z.string(), type: z.string() })),
    keys: z.array(z.string()).describe('Columns that identify a row of the sink.'),
    generation: integer64.describe('The epoch at which this definition took effect.'),
    sql: z.string().describe('The statement that creates this flow.'),
  }),
);

const renamed = z
  .array(z.strictObject({ from: z.string(), to: z.string() }))
  .describe('Columns of the query that an existing sink takes by their place, under another name.');

export const createdAnswer = answer(
  'CreatedFlow',
  z.strictObject({
    outcome: z.enum(['created', 'replaced', 'altered', 'exists']),
    flow: flowAnswer,
    inputs,
    renamed,
    rebuild: z.boolean().describe('Every window is dirty now, so that the sink is computed anew.'),
    rebuild_reason: z.string().describe('Why it is, or why it is not.'),
    warnings: z.array(z.string()).describe('What the flow will not do, or does otherwise than might be expected.'),
  }),
);

const droppedAnswer = answer(
  'DroppedFlow',
  z.strictObject({
    outcome: z.enum(['dropped', 'absent']),
    name: z.string(),
    sink: z.enum(['kept', 'dropped']).nullable(),
  }),
);

const rowsAnswer = answer(
  'Rows',
  z.strictObject({ columns: z.array(z.string()), rows: z.array(z.array(z.string().nullable())) }),
);

export const flowsAnswer = answer(
  'Flows',
  z.strictObject({
    flows: z.array(
      z.strictObject({ name: z.string(), sink: tableName, comment: z.string().nullable(), connection: z.string() }),
    ),
    cursor: z.string().optional().describe('Give it back to get the next page; absent on the last one.'),
  }),
);

const statusAnswer = answer('FlowStatus', z.strictObject({ name: z.string(), status: z.enum(['active', 'paused']) }));

const flushedAnswer = answer(
  'Flushed',
  z.strictObject({ affected_rows: integer64.describe('Rows inserted, updated and deleted in the sink meanwhile.') }),
);

export const flushingAnswer = answer(
  'Flushing',
  z.strictObject({ state: z.string().describe('Path that tells how far it is.'), message: z.string() }),
);

export const dryRunAnswer = answer(
  'DryRun',
  z
    .strictObject({
      dry_run: z.literal(true),
      flows: z.array(
        z.strictObject({
          name: z.string(),
          outcome: z
            .enum([
              'created',
              'replaced',
              'altered',
              'exists',
              'dropped',
              'paused',
              'resumed',
              'flushed',
              'refreshed',
              'marked',
            ])
            .describe('What would become of the flow.'),
          rebuild: z.boolean().describe('Every window would be dirty, so that the sink is computed anew.'),
          rebuild_reason: z.string().nullable(),
          sink: tableName.extend({ becomes: z.enum(['created', 'kept', 'dropped']) }),
          windows: z
            .strictObject({
              ranges: z.array(range).describe('The first of them, earliest first.'),
              more: z.boolean().describe('There are more than `ranges` holds.'),
              count: integer64
                .nullable()
                .describe(
                  'Windows in `ranges`, from their mean length where a calendar cuts them; null: the flow runs whole.',
                ),
            })
            .describe(
              'What would become dirty; of a flow that is dropped, paused or resumed, what is dirty and would be forgotten, wait or run.',
            ),
          inputs,
          renamed,
          statements: z
            .array(z.string())
            .describe('Those that would create or drop the sink, and the one that would write the first plan.'),
          rows_estimate: integer64
            .nullable()
            .describe('Rows that the query gives for all of `windows`, as the database expects; null: not asked.'),
          would_delete: z
            .strictObject({
              count: integer64,
              columns: z.array(z.string()).describe('The key of the sink.'),
              keys: z
                .array(z.array(z.string().nullable()))
                .describe('The first of these rows, by the values of `columns` as text; empty without a key.'),
            })
            .nullable()
            .describe(
              'Rows of the sink that the first plan would delete; null: no plan, no sink, or not found out in time.',
            ),
        }),
      ),
      warnings: z.array(z.string()),
    })
    .describe('What the call would touch. Nothing was changed.'),
);

/** Answers with status 200 of a call that takes `dryRun`. */
function orDryRun<S extends z.ZodType>(id: string, schema: S) {
  return answer(id, z.union([schema, dryRunAnswer]));
}

export const markedAnswer = answer(
  'Marked',
  z.strictObject({
    flows: z.array(
      z.strictObject({
        name: z.string(),
        marked: z.int().describe('Dirty windows written; touching ones are joined into one.'),
        ranges: z.array(range).describe('The first of them.'),
        more: z.boolean().describe('There are more than `ranges` holds.'),
      }),
    ),
  }),
);

const absentAnswer = answer('AbsentFlow', z.strictObject({ outcome: z.literal('absent'), name: z.string() }));

export const sqlAnswer = answer(
  'SqlAnswer',
  z.union([
    rowsAnswer,
    createdAnswer,
    droppedAnswer,
    absentAnswer,
    statusAnswer,
    flushedAnswer,
    markedAnswer,
    dryRunAnswer,
  ]),
);

export const stateAnswer = answer(
  'FlowState',
  z.strictObject({
    name: z.string(),
    status: z.enum(['creating', 'active', 'paused', 'dropping', 'dropped']),
    epoch: integer64,
    generation: integer64,
    mode: z.enum(['full_snapshot', 'incremental']),
    checkpoints: z
      .record(z.string(), z.string())
      .describe('Per region, the watermark up to which the sink has been brought.'),
    lease: z
      .strictObject({ owner: z.string(), epoch: integer64, expires_at: instantOutput, expired: z.boolean() })
      .nullable(),
    in_flight: z
      .strictObject({
        epoch: integer64,
        coverage,
        ranges: z.array(range),
        grid_time: instantOutput.nullable(),
        started_at: instantOutput,
        more: z.boolean().describe('Work is left behind this plan.'),
      })
      .nullable(),
    dirty: z.strictObject({
      ranges: z.array(range).describe('What still needs a plan, earliest first.'),
      more: z.boolean().describe('There are more dirty windows than were read.'),
    }),
    back_off: z.strictObject({
      window_limit: z.int().nullable().describe('Windows that the next plan may take; null: as the options say.'),
      failures: z.int().describe('Plans that failed in a row.'),
    }),
    blocked: runError.nullable().describe('Why no plan runs until the flow is resumed or replaced.'),
    last_error: runError.nullable(),
    last_run_at: instantOutput.nullable(),
    next_run: z.strictObject({
      at: instantOutput.nullable().describe('null: nothing is to be run until something happens.'),
      reason: z.string(),
    }),
    set_aside: z
      .array(z.strictObject({ range, reason: z.enum(['too_old', 'too_new', 'frozen', 'accepted']) }))
      .describe(
        'Dirty times that no plan takes: outside of what `accept_past` and `accept_future` allow, or frozen. ' +
          '`accepted`: they are allowed by now, and the next plans take them.',
      ),
    source: z.strictObject({
      oldest: instantOutput.nullable().describe("Time of the source's oldest row, as of the last plan that looked."),
      frozen_before: instantOutput
        .nullable()
        .describe('With `on_delete = keep`: windows that start before it are neither recomputed nor removed.'),
      shrunk: z
        .strictObject({ from: instantOutput, to: instantOutput.nullable(), at: instantOutput })
        .nullable()
        .describe('The last time that the source was seen to have lost its oldest rows; `to` null: it had none left.'),
    }),
    totals: z.strictObject({
      plans_committed: integer64,
      rows_written: integer64,
      grid_times_skipped: integer64.describe('Grid times without a run, of a flow that runs whole.'),
    }),
  }),
);

export const runsAnswer = answer(
  'Runs',
  z.strictObject({
    runs: z.array(
      z.strictObject({
        at: instantOutput,
        epoch: integer64,
        coverage,
        ranges: z.array(range),
        outcome: z.enum(['committed', 'recovered', 'failed', 'abandoned']),
        reason: z.string(),
        rows: z.strictObject({ inserted: integer64, updated: integer64, deleted: integer64 }).nullable(),
        query_ms: z.number(),
        tick_ms: z.number(),
        grid_time: instantOutput.nullable(),
      }),
    ),
    cursor: z.string().optional().describe('Give it back to get the next page; absent on the last one.'),
  }),
);

export const dryRunOr = {
  created: orDryRun('CreatedFlowOrDryRun', createdAnswer),
  dropped: orDryRun('DroppedFlowOrDryRun', droppedAnswer),
  status: orDryRun('FlowStatusOrDryRun', statusAnswer),
  flushed: orDryRun('FlushedOrDryRun', flushedAnswer),
  marked: orDryRun('MarkedOrDryRun', markedAnswer),
};
