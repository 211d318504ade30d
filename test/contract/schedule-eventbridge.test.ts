import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SluiceError } from '../../lib/errors.ts';
import {
  createEventBridgeSchedule,
  rateExpression,
  scheduleRuleName,
} from '../../lib/schedule/eventbridge-schedule.ts';
import type { Schedule } from '../../lib/schedule/schedule.ts';
import { FakeEventBridge, type Fault } from '../support/fake-eventbridge.ts';
import { type ScheduleUnderTest, scheduleSuite } from './schedule-suite.ts';

const PREFIX = 'sluice-test-';
const ARN = 'arn:aws:lambda:eu-central-1:123456789012:function:tick';

function clientOf(fake: FakeEventBridge): EventBridgeClient {
  return new EventBridgeClient({
    endpoint: fake.endpoint,
    region: 'eu-central-1',
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
    // The adapter's own convergence is tested here, not the client's retries.
    maxAttempts: 1,
  });
}

function scheduleOver(client: EventBridgeClient, waits: number[] = []): Schedule {
  return createEventBridgeSchedule({
    client,
    eventBusName: 'sluice-bus',
    rulePrefix: PREFIX,
    tickFunctionArn: ARN,
    wait: async (ms) => void waits.push(ms),
  });
}

scheduleSuite('EventBridge', async (): Promise<ScheduleUnderTest> => {
  const fake = await FakeEventBridge.start();
  const client = clientOf(fake);
  return {
    schedule: scheduleOver(client),
    cadence: async (flow) => {
      const rule = [...fake.rules.values()].find(({ targets }) =>
        [...targets.values()].some(({ Input }) => JSON.parse(Input ?? '{}').detail.flow === flow),
      );
      return rule?.state === 'ENABLED' ? Number(/\d+/.exec(rule.schedule)?.[0]) * 60 : null;
    },
    requested: async (flow) =>
      fake.events
        .map(({ Detail }) => JSON.parse(Detail))
        .filter((detail) => detail.flow === flow)
        .map(({ reason }) => reason),
    close: async () => {
      client.destroy();
      await fake.close();
    },
  };
});

describe('EventBridge schedule', () => {
  let fake: FakeEventBridge;
  let client: EventBridgeClient;
  let schedule: Schedule;
  let waits: number[];
  beforeEach(async () => {
    fake = await FakeEventBridge.start();
    client = clientOf(fake);
    waits = [];
    schedule = scheduleOver(client, waits);
  });
  afterEach(async () => {
    client.destroy();
    await fake.close();
  });

  const seen = () =>
    [...fake.rules.values()].map(({ schedule: every, state, targets }) => ({
      every,
      state,
      targets: [...targets.keys()],
    }));

  it("gives the tick function a constant event, no repetition, and a minute's life", async () => {
    await schedule.put('daily "totals"', 60);
    const [target] = [...(fake.rules.get(scheduleRuleName(PREFIX, 'daily "totals"'))?.targets.values() ?? [])];
    expect(target?.Arn).toBe(ARN);
    expect(target?.RetryPolicy).toEqual({ MaximumRetryAttempts: 0, MaximumEventAgeInSeconds: 60 });
    expect(JSON.parse(target?.Input ?? '')).toEqual({
      version: '0',
      source: 'sluice',
      'detail-type': 'Sluice Tick',
      resources: [],
      detail: { flow: 'daily "totals"', reason: 'schedule' },
    });
  });

  it('leaves no rule behind at remove', async () => {
    await schedule.put('f', 60);
    expect(fake.rules.size).toBe(1);
    await schedule.remove('f');
    expect(fake.rules.size).toBe(0);
  });

  it('puts tick requests on the bus that it was given', async () => {
    await schedule.requestTick('f', 'flush');
    expect(fake.events).toMatchObject([{ EventBusName: 'sluice-bus', Source: 'sluice', DetailType: 'Sluice Tick' }]);
  });

  const faults: Fault[] = [
    { kind: 'dropped' },
    { kind: 'lost' },
    { kind: 'error', status: 400, type: 'ConcurrentModificationException' },
    { kind: 'error', status: 500, type: 'InternalException' },
  ];
  const steps = [
    { call: 'put', operation: 'PutRule', act: (s: Schedule) => s.put('f', 120), prepare: async () => {} },
    { call: 'put', operation: 'PutTargets', act: (s: Schedule) => s.put('f', 120), prepare: async () => {} },
    {
      call: 'enable',
      operation: 'EnableRule',
      act: (s: Schedule) => s.enable('f'),
      prepare: (s: Schedule) => s.put('f', 60).then(() => s.disable('f')),
    },
    {
      call: 'disable',
      operation: 'DisableRule',
      act: (s: Schedule) => s.disable('f'),
      prepare: (s: Schedule) => s.put('f', 60),
    },
    {
      call: 'remove',
      operation: 'RemoveTargets',
      act: (s: Schedule) => s.remove('f'),
      prepare: (s: Schedule) => s.put('f', 60),
    },
    {
      call: 'remove',
      operation: 'DeleteRule',
      act: (s: Schedule) => s.remove('f'),
      prepare: (s: Schedule) => s.put('f', 60),
    },
  ];
  for (const { call, operation, act, prepare } of steps) {
    for (const fault of faults) {
      const how = fault.kind === 'error' ? fault.type : fault.kind;
      it(`${call} fails retryably when ${operation} is ${how}, and converges when repeated`, async () => {
        await prepare(schedule);
        await act(schedule);
        const wanted = seen();
        await schedule.remove('f');
        await prepare(schedule);

        fake.inject(operation, fault);
        await expect(act(schedule)).rejects.toMatchObject({ code: 'schedule_unavailable', retryable: true });
        await act(schedule);
        expect(seen()).toEqual(wanted);
      });
    }
  }

  it('repairs a rule whose target was lost', async () => {
    await schedule.put('f', 60);
    [...fake.rules.values()][0]?.targets.clear();
    await schedule.put('f', 60);
    expect(seen()).toEqual([{ every: 'rate(1 minute)', state: 'ENABLED', targets: ['tick'] }]);
  });

  it('takes a refused target for a failure, though the call itself was answered with 200', async () => {
    fake.inject('PutTargets', { kind: 'failed_entry', code: 'ConcurrentModificationException' });
    await expect(schedule.put('f', 60)).rejects.toMatchObject({ code: 'schedule_unavailable', retryable: true });
    fake.inject('RemoveTargets', { kind: 'failed_entry', code: 'InternalException' });
    await expect(schedule.remove('f')).rejects.toMatchObject({ code: 'schedule_unavailable', retryable: true });
  });

  it('repeats a tick request that the bus refused, with growing pauses', async () => {
    fake.inject('PutEvents', { kind: 'failed_entry', code: 'ThrottlingException' });
    fake.inject('PutEvents', { kind: 'failed_entry', code: 'InternalFailure' });
    await schedule.requestTick('f', 'continue');
    expect(fake.events).toHaveLength(1);
    expect(waits).toEqual([100, 200]);
  });

  it('gives up on a tick request after three refusals, saying so', async () => {
    for (let n = 0; n < 3; n += 1) fake.inject('PutEvents', { kind: 'failed_entry', code: 'ThrottlingException' });
    const error = await schedule.requestTick('f', 'continue').catch((e: unknown) => e);
    expect(error).toMatchObject({ code: 'schedule_unavailable', retryable: true });
    expect((error as Error).message).toContain('ThrottlingException');
    expect(fake.events).toHaveLength(0);
    expect(fake.calls.filter((call) => call === 'PutEvents')).toHaveLength(3);
  });

  it('tells what needs a person from what passes', async () => {
    const cases = [
      { type: 'LimitExceededException', status: 400, retryable: false, says: /quota/ },
      { type: 'AccessDeniedException', status: 400, retryable: false, says: /permissions/ },
      { type: 'ThrottlingException', status: 400, retryable: true, says: /try again/ },
      { type: 'ServiceUnavailable', status: 503, retryable: true, says: /try again/ },
    ];
    for (const { type, status, retryable, says } of cases) {
      fake.inject('PutRule', { kind: 'error', status, type });
      const error = await schedule.put('f', 60).catch((e: unknown) => e);
      expect(error, type).toBeInstanceOf(SluiceError);
      expect(error, type).toMatchObject({
        code: 'schedule_unavailable',
        retryable,
        message: expect.stringMatching(says),
      });
    }
  });

  it('says that the rule is gone when a flow without one is enabled', async () => {
    await expect(schedule.enable('nobody')).rejects.toMatchObject({
      retryable: false,
      message: expect.stringMatching(/replace the flow/),
    });
  });

  it('is retryable when nothing answers', async () => {
    await fake.close();
    await expect(schedule.requestTick('f', 'flush')).rejects.toMatchObject({
      code: 'schedule_unavailable',
      retryable: true,
    });
  });

  it('refuses a prefix that would make an impossible rule name', () => {
    const make = (rulePrefix: string) => () =>
      createEventBridgeSchedule({ client, eventBusName: 'b', rulePrefix, tickFunctionArn: ARN, wait: async () => {} });
    expect(make('has space')).toThrow(/rule prefix/);
    expect(make('x'.repeat(33))).toThrow(/rule prefix/);
    expect(make('x'.repeat(32))).not.toThrow();
  });
});

describe('rateExpression', () => {
  it('never ticks less often than asked, nor more often than each minute', () => {
    expect([1, 59, 60, 119, 120, 3600].map(rateExpression)).toEqual([
      'rate(1 minute)',
      'rate(1 minute)',
      'rate(1 minute)',
      'rate(1 minute)',
      'rate(2 minutes)',
      'rate(60 minutes)',
    ]);
  });
});
