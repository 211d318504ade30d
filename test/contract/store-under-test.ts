import type { FlowStore } from '../../lib/store/flow-store.ts';
import type { Instant } from '../../lib/window/instant.ts';
import type { StoreFaults } from '../support/store-faults.ts';

export interface StoreUnderTest {
  readonly store: FlowStore;
  /** The same state through the store of another worker. */
  readonly other: FlowStore;
  /** Of the requests of `store`. */
  readonly faults: StoreFaults;
  /** A clock that both stores share. */
  setNow(now: Instant): void;
  close(): Promise<void>;
}

/** Throws where a store does not keep the promise of the title. Flow and table names are its own: they begin with `flow`. */
export type StoreCheck = (under: StoreUnderTest, flow: string) => Promise<void>;
