import type { CreateMode } from '../engine/lifecycle.ts';
import { type Change, markFlow } from '../engine/marks.ts';
import { type Refresh, refreshFlow } from '../engine/refresh.ts';
import type { TableName } from '../flow/definition.ts';
import type { FlowChange } from '../flow/flow-change.ts';
import type { FlowInput } from '../flow/flow-input.ts';
import { alterFlow, createFromInput } from './create-flow.ts';
import {
  dryAlter,
  dryCreate,
  dryDrop,
  dryFlush,
  dryMarkFlow,
  dryMarkTable,
  dryPause,
  dryRefresh,
  dryResume,
} from './dry-run.ts';
import { drop, flush, pause, resume } from './life-cycle.ts';
import { markReaders } from './mark-readers.ts';
import type { Call, Outcome } from './route.ts';
import { markedView } from './views.ts';

/** Everything that changes something, with its answers. */
export interface Commands {
  readonly create: (call: Call, input: FlowInput, mode: CreateMode) => Promise<Outcome>;
  readonly alter: (call: Call, name: string, change: FlowChange) => Promise<Outcome>;
  readonly drop: (call: Call, name: string, dropSink: boolean) => Promise<Outcome>;
  readonly pause: (call: Call, name: string) => Promise<Outcome>;
  readonly resume: (call: Call, name: string) => Promise<Outcome>;
  readonly flush: (call: Call, name: string) => Promise<Outcome>;
  readonly refresh: (call: Call, name: string, refresh: Refresh) => Promise<Outcome>;
  readonly markFlow: (call: Call, name: string, change: Change) => Promise<Outcome>;
  readonly markTable: (call: Call, connection: string, table: TableName, change: Change) => Promise<Outcome>;
}

/** In a dry run they change nothing, and answer with what they would touch. */
export function commands(dryRun: boolean): Commands {
  return dryRun ? DRY : REAL;
}

const REAL: Commands = {
  create: createFromInput,
  alter: alterFlow,
  drop,
  pause,
  resume,
  flush,
  refresh: async ({ deps }, name, refresh) => ({
    status: 200,
    body: markedView([{ flow: name, marked: await refreshFlow(deps.engine, name, refresh) }]),
  }),
  markFlow: async ({ deps }, name, change) => ({
    status: 200,
    body: markedView([await markFlow(deps.engine, name, change)]),
  }),
  markTable: async ({ deps }, connection, table, change) => ({
    status: 200,
    body: markedView(await markReaders(deps.engine, connection, table, change)),
  }),
};

const DRY: Commands = {
  create: dryCreate,
  alter: dryAlter,
  drop: dryDrop,
  pause: dryPause,
  resume: dryResume,
  flush: dryFlush,
  refresh: dryRefresh,
  markFlow: dryMarkFlow,
  markTable: dryMarkTable,
};
