import { NEW_FLOW_STATE } from '../../../lib/engine/state.ts';
import type { FlowDefinition } from '../../../lib/flow/definition.ts';
import { DEFAULT_OPTIONS } from '../../../lib/flow/options.ts';
import type { DirtyWindow, FlowState, LoadedFlow } from '../../../lib/store/flow-store.ts';
import { instant, type Micros } from '../../../lib/window/instant.ts';
import type { TimeRange } from '../../../lib/window/time-range.ts';

const WINDOW: Micros = 10n;

export interface FlowChanges {
  readonly options?: Partial<FlowDefinition['options']>;
  readonly expireAfter?: Micros;
  readonly evalInterval?: Micros;
  readonly whole?: boolean;
}

/** A flow of windows ten microseconds long, at most three ranges and four windows a plan, neighbours joined over one window. */
export function flow(changes: FlowChanges = {}): FlowDefinition {
  return {
    name: 'f',
    sink: { schema: 'public', table: 'sink' },
    query: '',
    comment: null,
    expireAfter: changes.expireAfter ?? null,
    evalInterval: changes.evalInterval ?? null,
    options: {
      ...DEFAULT_OPTIONS,
      connection: 'default',
      timeZone: 'UTC',
      mergeDistance: 1,
      maxRanges: 3,
      maxWindows: 4,
      order: 'newest',
      ...changes.options,
    },
    compiled: {
      compiler: 1,
      text: [''],
      holes: [],
      window:
        changes.whole === true
          ? null
          : {
              spec: { kind: 'fixed', size: WINDOW, origin: instant(0n) },
              column: 'w',
              expression: ['', ''],
              argumentType: 'timestamptz',
            },
      sources: [],
      beneath: [],
      columns: ['w'],
      keys: ['w'],
      history: null,
    },
    sinkColumns: [],
    updateAt: false,
    placeholder: false,
    generation: 1n,
  };
}

export function range(start: number, end: number): TimeRange {
  return { start: instant(BigInt(start)), end: instant(BigInt(end)) };
}

export function dirty(start: number, end: number, version = `v${start}`): DirtyWindow {
  return { ...range(start, end), version, forced: false };
}

export function loaded(windows: readonly DirtyWindow[], state: Partial<FlowState> = {}, more = false): LoadedFlow {
  return {
    state: { ...NEW_FLOW_STATE, status: 'active', generation: 1n, ...state },
    definition: flow(),
    dirty: windows,
    more,
  };
}
