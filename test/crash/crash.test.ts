import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EngineDeps } from '../../lib/engine/deps.ts';
import { createFlow, dropFlow, pauseFlow, resumeFlow } from '../../lib/engine/lifecycle.ts';
import { markFlow } from '../../lib/engine/marks.ts';
import { SluiceError } from '../../lib/errors.ts';
import { ALL_TIME } from '../../lib/window/time-range.ts';
import { CrashWorld, type Trial } from './crash-world.ts';
import { stopPoints } from './stop.ts';

interface Scenario {
  readonly prepare: (trial: Trial) => Promise<unknown>;
  readonly act: (trial: Trial, deps: EngineDeps) => Promise<unknown>;
  /** What a user, or the next tick, does after the crash, before the flow is looked at. */
  readonly recover?: (trial: Trial) => Promise<unknown>;
  /** What a run that is not stopped sends at least: a count below it means that the watch sees too little. */
  readonly least: { readonly store: number; readonly database: number };
}

const tickOnce = (trial: Trial, deps: EngineDeps) => trial.tick(deps);

/** Leaves a plan in flight: its worker dies at the `at`th message to the database, before or after it. */
const leaveInFlight = (how: 'dies_before' | 'dies_after') => async (trial: Trial) => {
  await trial.insert([0, 1, 2]);
  await trial.create();
  await trial.insert([1, 4]);
  await trial.stopped((deps) => trial.tick(deps), { side: 'database', at: 3, how });
  trial.advance(100n);
};

/** Again until nobody else's lease stands in the way; what has already been done is fine. */
async function again(trial: Trial, change: (deps: EngineDeps) => Promise<unknown>): Promise<void> {
  trial.advance(100n);
  await change(trial.well).catch((error: unknown) => {
    if (!(error instanceof SluiceError) || !['flow_not_found', 'flow_exists'].includes(error.code)) throw error;
  });
}

const SCENARIOS: Readonly<Record<string, Scenario>> = {
  'a scoped repair of inserted, changed and deleted rows': {
    prepare: async (trial) => {
      await trial.insert([0, 1, 2, 3]);
      await trial.create();
      await trial.insert([1, 7]);
      await trial.change(2);
      await trial.remove(3);
    },
    act: tickOnce,
    least: { store: 7, database: 3 },
  },
  'a plan over a part of a long range': {
    prepare: async (trial) => {
      await trial.insert([0, 1, 2, 3, 4, 5, 6]);
      await trial.create();
      await trial.change(0);
      await trial.change(6);
      await markFlow(trial.well, trial.flow, { timestamps: [], ranges: [ALL_TIME] });
    },
    act: tickOnce,
    least: { store: 5, database: 4 },
  },
  'a take-over of a plan that was applied': {
    prepare: leaveInFlight('dies_after'),
    act: tickOnce,
    least: { store: 4, database: 1 },
  },
  'a take-over of a plan that was not applied': {
    prepare: leaveInFlight('dies_before'),
    act: tickOnce,
    least: { store: 4, database: 1 },
  },
  'a query run whole at a grid time': {
    prepare: async (trial) => {
      await trial.insert([0, 1, 2]);
      await trial.create(0, 'whole');
      await trial.insert([2, 5]);
      trial.advance(60n);
    },
    act: tickOnce,
    // Nobody marks for it: its next grid time brings in what was changed meanwhile.
    recover: async (trial) => {
      trial.advance(120n);
      await trial.tick(trial.well);
    },
    least: { store: 4, database: 3 },
  },
  'the creation of a flow': {
    prepare: (trial) => trial.insert([0, 1, 2]),
    act: (trial, deps) => createFlow(deps, trial.draft(0), 'create'),
    recover: (trial) => again(trial, (deps) => createFlow(deps, trial.draft(0), 'create')),
    least: { store: 9, database: 5 },
  },
  'the replacement of a flow whose plan is in flight': {
    prepare: leaveInFlight('dies_before'),
    act: (trial, deps) => createFlow(deps, trial.draft(2), 'or_replace'),
    recover: (trial) => again(trial, (deps) => createFlow(deps, trial.draft(2), 'or_replace')),
    least: { store: 8, database: 3 },
  },
  'a tick that brings a half-done replacement into force': {
    prepare: async (trial) => {
      await trial.insert([0, 1, 2]);
      await trial.create();
      const stored = Promise.withResolvers<void>();
      const commit = () => {
        stored.resolve();
        return new Promise<never>(() => undefined);
      };
      const store = { ...trial.well.store, commit };
      await Promise.race([createFlow({ ...trial.well, store }, trial.draft(1), 'or_replace'), stored.promise]);
      trial.advance(100n);
    },
    act: tickOnce,
    least: { store: 4, database: 1 },
  },
  'a drop, and a new flow of the same name': {
    prepare: async (trial) => {
      await trial.insert([0, 1, 2]);
      await trial.create();
      await trial.insert([1]);
    },
    act: (trial, deps) => dropFlow(deps, trial.flow, { dropSink: false }),
    recover: async (trial) => {
      await again(trial, (deps) => dropFlow(deps, trial.flow, { dropSink: false }));
      expect(await trial.load()).toMatchObject({ state: { status: 'dropped' }, definition: null, dirty: [] });
      await again(trial, (deps) => createFlow(deps, trial.draft(1), 'create'));
    },
    least: { store: 8, database: 1 },
  },
  'a pause': {
    prepare: async (trial) => {
      await trial.insert([0, 1, 2]);
      await trial.create();
      await trial.insert([1]);
    },
    act: (trial, deps) => pauseFlow(deps, trial.flow),
    recover: async (trial) => {
      await again(trial, (deps) => pauseFlow(deps, trial.flow));
      await trial.tick(trial.well);
      expect((await trial.load()).state.status).toBe('paused');
      await again(trial, (deps) => resumeFlow(deps, trial.flow));
    },
    least: { store: 3, database: 1 },
  },
  'a resumption with a plan in flight': {
    prepare: async (trial) => {
      await leaveInFlight('dies_after')(trial);
      await pauseFlow(trial.well, trial.flow);
    },
    act: (trial, deps) => resumeFlow(deps, trial.flow),
    recover: (trial) => again(trial, (deps) => resumeFlow(deps, trial.flow)),
    least: { store: 3, database: 0 },
  },
};

let world: CrashWorld;
beforeAll(async () => {
  world = await CrashWorld.open();
});
afterAll(() => world.close());

async function inTrial<T>(use: (trial: Trial) => Promise<T>): Promise<T> {
  const trial = await world.trial();
  try {
    return await use(trial);
  } finally {
    await trial.close();
  }
}

describe('a worker stopped at any request to the store or message to the database', () => {
  describe.each(Object.entries(SCENARIOS))('of %s', (_name, { prepare, act, recover, least }) => {
    it('leaves nothing that the next one does not put right', { timeout: 240_000 }, async () => {
      const { counted } = await inTrial(async (trial) => {
        await prepare(trial);
        return trial.stopped((deps) => act(trial, deps), null);
      });
      expect(counted.store).toBeGreaterThanOrEqual(least.store);
      expect(counted.database).toBeGreaterThanOrEqual(least.database);

      const wrong: string[] = [];
      for (const point of stopPoints(counted)) {
        const found = await inTrial(async (trial) => {
          await prepare(trial);
          const { epoch } = await trial.load().then(
            ({ state }) => state,
            () => ({ epoch: 0n }),
          );
          const stop = await trial.stopped((deps) => act(trial, deps), point);
          // Somebody writes while the flow is nobody's.
          await trial.insert([1, 9], 5);
          await recover?.(trial);
          const problems = await trial.untilQuiet();
          const after = (await trial.load()).state;
          if (!stop.reached) problems.push('the point was never reached');
          if (after.epoch < epoch) problems.push(`the epoch fell from ${epoch} to ${after.epoch}`);
          const outcomes = await trial.history();
          if (outcomes.length === 0) problems.push('no history');
          if (!outcomes.every((outcome) => ['committed', 'recovered', 'failed', 'abandoned'].includes(outcome)))
            problems.push(`odd history: ${outcomes.join(', ')}`);
          return problems;
        });
        wrong.push(...found.map((problem) => `${point.side} ${point.at} ${point.how}: ${problem}`));
      }
      expect(wrong).toEqual([]);
    });
  });

  it('is noticed: a fence that tells nothing loses what was in flight', async () => {
    const differences = await inTrial(async (trial) => {
      await leaveInFlight('dies_before')(trial);
      const { well } = trial;
      // Believes whatever was in flight to have been applied.
      const blind = {
        ...well.frontend('default'),
        fence: (_: string, epoch: bigint) => Promise.resolve({ applied: epoch - 1n }),
      };
      await trial.tick({ ...well, frontend: () => blind });
      return trial.differences();
    });
    expect(differences).not.toEqual([]);
  });
});
