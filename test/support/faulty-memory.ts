import { SluiceError } from '../../lib/errors.ts';
import type { RequestHook } from './memory-store.ts';
import type { StoreFault, StoreFaults } from './store-faults.ts';

const ATTEMPTS = 3;

/** Retries as the AWS SDK does: a request whose answer was lost is applied again. */
export function faultyRequests(faults: StoreFaults): RequestHook {
  return async (operation, apply) => {
    let last: StoreFault | null = null;
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      last = await faults.onAttempt(operation);
      if (last === null) return apply();
      if (last === 'answer_lost') apply();
    }
    const code = last === 'throttled' ? 'throttled' : 'store_unavailable';
    throw new SluiceError(code, 'the store does not answer', { retryable: true });
  };
}
