import { createHash } from 'node:crypto';
import {
  DeleteRuleCommand,
  DisableRuleCommand,
  EnableRuleCommand,
  type EventBridgeClient,
  PutEventsCommand,
  PutRuleCommand,
  PutTargetsCommand,
  RemoveTargetsCommand,
} from '@aws-sdk/client-eventbridge';
import { SluiceError } from '../errors.ts';
import { isMissing, translate } from './eventbridge-errors.ts';
import type { Schedule } from './schedule.ts';
import { EVENT_SOURCE, TICK_DETAIL_TYPE, type TickDetail } from './tick-event.ts';

export interface EventBridgeScheduleOptions {
  readonly client: EventBridgeClient;
  /** Bus that tick requests are put on. Rules with a schedule live on the account's default bus, the only one that has them. */
  readonly eventBusName: string;
  /** Begins the name of every rule; the deployment's permission to be invoked by rules is for this prefix. */
  readonly rulePrefix: string;
  /** null: this client only asks for ticks; `put` is refused. */
  readonly tickFunctionArn: string | null;
  /** Between attempts at an event that the bus refused. */
  readonly wait: (ms: number) => Promise<void>;
}

const TARGET_ID = 'tick';
/** EventBridge's limit for a rule's name is 64 characters; the hash takes 32 of them. */
const LONGEST_PREFIX = 32;
const PUT_EVENT_ATTEMPTS = 3;
const FIRST_WAIT_MS = 100;
/** A late tick is worth nothing, the next one is on its way: a rule does not repeat it. */
const RETRY_POLICY = { MaximumRetryAttempts: 0, MaximumEventAgeInSeconds: 60 };

/**
 * One rule per flow, with the tick function as its only target. Every operation can be repeated after any half of it, and
 * removing what is not there is a success.
 */
export function createEventBridgeSchedule(options: EventBridgeScheduleOptions): Schedule {
  const { client, rulePrefix } = options;
  if (!/^[.\-_A-Za-z0-9]+$/.test(rulePrefix) || rulePrefix.length > LONGEST_PREFIX) {
    throw new SluiceError(
      'invalid_option',
      `rule prefix "${rulePrefix}" must be 1 to ${LONGEST_PREFIX} letters, digits, dots, hyphens or underscores`,
    );
  }
  const ruleName = (flow: string): string => scheduleRuleName(rulePrefix, flow);

  async function call(flow: string, what: string, send: () => Promise<unknown>): Promise<void> {
    try {
      await send();
    } catch (error) {
      throw translate(error, `${what} the rule ${ruleName(flow)} of flow ${flow}`);
    }
  }

  async function unlessMissing(send: () => Promise<unknown>): Promise<void> {
    try {
      await send();
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
  }

  return {
    async put(flow, everySeconds) {
      const { tickFunctionArn } = options;
      if (tickFunctionArn === null) {
        throw new SluiceError(
          'internal',
          `the rule of flow ${flow} cannot be put: no tick function is configured here`,
        );
      }
      // The target is put last: a rule without one fires into the void, a target cannot be put without a rule.
      await call(flow, 'put', () =>
        client.send(
          new PutRuleCommand({
            Name: ruleName(flow),
            ScheduleExpression: rateExpression(everySeconds),
            State: 'ENABLED',
            Description: `Ticks of a Sluice flow: ${printable(flow)}`,
          }),
        ),
      );
      await call(flow, 'put the target of', async () => {
        const answer = await client.send(
          new PutTargetsCommand({
            Rule: ruleName(flow),
            Targets: [
              {
                Id: TARGET_ID,
                Arn: tickFunctionArn,
                Input: JSON.stringify(scheduledEvent(flow)),
                RetryPolicy: RETRY_POLICY,
              },
            ],
          }),
        );
        refuseFailedEntries(answer.FailedEntries?.[0]);
      });
    },

    async enable(flow) {
      await call(flow, 'enable', () => client.send(new EnableRuleCommand({ Name: ruleName(flow) })));
    },

    async disable(flow) {
      await call(flow, 'disable', () =>
        unlessMissing(() => client.send(new DisableRuleCommand({ Name: ruleName(flow) }))),
      );
    },

    async remove(flow) {
      // A rule that still has a target cannot be deleted.
      await call(flow, 'remove the target of', () =>
        unlessMissing(async () => {
          const answer = await client.send(new RemoveTargetsCommand({ Rule: ruleName(flow), Ids: [TARGET_ID] }));
          const failed = answer.FailedEntries?.[0];
          if (failed?.ErrorCode !== 'ResourceNotFoundException') refuseFailedEntries(failed);
        }),
      );
      await call(flow, 'delete', () =>
        unlessMissing(() => client.send(new DeleteRuleCommand({ Name: ruleName(flow) }))),
      );
    },

    async requestTick(flow, reason) {
      const detail: TickDetail = { flow, reason };
      const entry = {
        Source: EVENT_SOURCE,
        DetailType: TICK_DETAIL_TYPE,
        Detail: JSON.stringify(detail),
        EventBusName: options.eventBusName,
      };
      for (let attempt = 1; ; attempt += 1) {
        const refusal = await putEvent(entry, flow);
        if (refusal === null) return;
        if (attempt === PUT_EVENT_ATTEMPTS) {
          throw new SluiceError(
            'schedule_unavailable',
            `the event bus refused the tick request of flow ${flow} ${PUT_EVENT_ATTEMPTS} times: ${refusal}; the flow's rule ticks it anyway`,
            { retryable: true },
          );
        }
        await options.wait(FIRST_WAIT_MS * 2 ** (attempt - 1));
      }
    },
  };

  /** An HTTP 200 of PutEvents may still hold a refused entry. */
  async function putEvent(entry: PutEventsEntry, flow: string): Promise<string | null> {
    try {
      const answer = await client.send(new PutEventsCommand({ Entries: [entry] }));
      return (answer.FailedEntryCount ?? 0) === 0 ? null : (answer.Entries?.[0]?.ErrorCode ?? 'no reason given');
    } catch (error) {
      throw translate(error, `request a tick of flow ${flow} on the event bus ${options.eventBusName}`);
    }
  }
}

type PutEventsEntry = NonNullable<ConstructorParameters<typeof PutEventsCommand>[0]['Entries']>[number];

/** Flow names hold any character; a rule's name does not. */
export function scheduleRuleName(prefix: string, flow: string): string {
  return `${prefix}${createHash('sha256').update(flow, 'utf8').digest('hex').slice(0, 32)}`;
}

/** Rounded down to whole minutes, so that ticks come at least as often; a rule cannot fire more often than each minute. */
export function rateExpression(everySeconds: number): string {
  const minutes = Math.max(1, Math.floor(everySeconds / 60));
  return minutes === 1 ? 'rate(1 minute)' : `rate(${minutes} minutes)`;
}

/** A constant, so that one rule's every firing is the same event; a tick reads only the detail of it. */
function scheduledEvent(flow: string): Record<string, unknown> {
  const detail: TickDetail = { flow, reason: 'schedule' };
  return { version: '0', source: EVENT_SOURCE, 'detail-type': TICK_DETAIL_TYPE, resources: [], detail };
}

/** A rule's description is at most 512 characters; control characters of a name are left out. */
function printable(flow: string): string {
  return flow.replace(/\p{C}/gu, '').slice(0, 200);
}

function refuseFailedEntries(
  failed: { ErrorCode?: string | undefined; ErrorMessage?: string | undefined } | undefined,
): void {
  if (failed === undefined) return;
  throw Object.assign(new Error(failed.ErrorMessage ?? 'the target was refused'), {
    name: failed.ErrorCode ?? 'InternalException',
  });
}
