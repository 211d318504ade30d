import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CLAIM_CHECKS } from './store-claim-checks.ts';
import { DEFINITION_CHECKS } from './store-definition-checks.ts';
import { DIRTY_CHECKS } from './store-dirty-checks.ts';
import { RUN_CHECKS } from './store-run-checks.ts';
import { STATE_CHECKS } from './store-state-checks.ts';
import type { StoreCheck, StoreUnderTest } from './store-under-test.ts';

export const STORE_CHECKS: Readonly<Record<string, StoreCheck>> = {
  ...STATE_CHECKS,
  ...DIRTY_CHECKS,
  ...DEFINITION_CHECKS,
  ...CLAIM_CHECKS,
  ...RUN_CHECKS,
};

/** The promises of the port, over one adapter. */
export function flowStoreContract(name: string, makeStore: () => Promise<StoreUnderTest>): void {
  describe(name, () => {
    let under: StoreUnderTest;
    let flows = 0;

    beforeAll(async () => {
      under = await makeStore();
    });
    afterAll(() => under.close());

    for (const [title, check] of Object.entries(STORE_CHECKS)) {
      it(title, async () => {
        await check(under, `${name.slice(0, 20)} ${++flows}`);
        expect(under.faults.spent, 'every planned fault has happened').toBe(true);
      });
    }
  });
}
