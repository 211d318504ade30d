import { describe, expect, it } from 'vitest';
import { WITHOUT } from './guards.ts';
import { randomSchedule, runSchedule, search } from './schedules.ts';

const SCHEDULES = Number(process.env['SLUICE_MODEL_SCHEDULES'] ?? 50_000);
const FIRST_SEED = Number(process.env['SLUICE_MODEL_SEED'] ?? 1);
/** Within so many schedules a missing guard has to show. */
const CONTROL_SCHEDULES = 20_000;

describe('the engine over in-memory ports', () => {
  it(`brings the sink to the query after each of ${SCHEDULES} random schedules`, { timeout: 1_800_000 }, async () => {
    const { ran, failure } = await search(SCHEDULES, {}, FIRST_SEED);
    const report = failure && `seed ${failure.seed}: ${failure.problem}\n${failure.trace.join('\n')}`;
    expect(report).toBeNull();
    expect(ran).toBe(SCHEDULES);
  });

  it('runs the same schedule the same way', async () => {
    const schedule = randomSchedule(7, 100);
    expect(await runSchedule(schedule)).toEqual(await runSchedule(schedule));
  });

  describe.each(Object.entries(WITHOUT))('without %s', (_name, guards) => {
    it('diverges', { timeout: 300_000 }, async () => {
      const { failure } = await search(CONTROL_SCHEDULES, guards);
      expect(failure?.problem).toMatch(/row|definition|dirty|lease|plan/);
    });
  });
});
