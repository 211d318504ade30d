import type { Frontend } from '../frontend/frontend.ts';
import type { Schedule } from '../schedule/schedule.ts';
import type { FlowStore } from '../store/flow-store.ts';
import type { Instant } from '../window/instant.ts';

/** One line per decision, for the log. Never holds a row of user data or query text. */
export interface EngineEvent {
  readonly flow: string;
  readonly action: string;
  readonly reason: string;
  readonly epoch?: bigint;
  readonly error?: unknown;
}

/** Everything that the engine reaches the world through. */
export interface EngineDeps {
  readonly store: FlowStore;
  /** The frontend of a named connection; throws `invalid_option` where no such connection is configured. */
  readonly frontend: (connection: string) => Frontend;
  readonly schedule: Schedule;
  readonly clock: () => Instant;
  /** Ends after so many milliseconds; only used to watch a state, never to order two steps. */
  readonly wait: (ms: number) => Promise<void>;
  readonly log: (event: EngineEvent) => void;
}
