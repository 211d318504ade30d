import { createHash } from 'node:crypto';
import { Duration, Stack } from 'aws-cdk-lib';
import { EventBus, Rule } from 'aws-cdk-lib/aws-events';
import { LambdaFunction } from 'aws-cdk-lib/aws-events-targets';
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { EVENT_SOURCE, MARK_DETAIL_TYPE, TICK_DETAIL_TYPE } from '../../lib/schedule/tick-event.ts';
import type { SluiceFunction } from './sluice-function.ts';

/** A tick is worth nothing once the next one has come. */
export const TICK_DELIVERY = { retryAttempts: 0, maxEventAge: Duration.seconds(60) };

export interface FlowClockProps {
  readonly tick: SluiceFunction;
  readonly ingest: SluiceFunction;
  /** Keeps marks that could not be delivered. */
  readonly undelivered: IQueue;
}

/** The bus of tick requests and marks, and the right of each flow's own rule to invoke the tick function. */
export class FlowClock extends Construct {
  readonly bus: EventBus;
  readonly #tick: SluiceFunction;
  readonly #rulePrefix: string;
  readonly #ruleArns: string;

  constructor(scope: Construct, id: string, { tick, ingest, undelivered }: FlowClockProps) {
    super(scope, id);
    const stack = Stack.of(this);
    this.#tick = tick;
    // Two deployments in one account may have flows of one name.
    this.#rulePrefix = `sluice-${createHash('sha256').update(stack.stackName).digest('hex').slice(0, 8)}-`;
    this.#ruleArns = stack.formatArn({ service: 'events', resource: 'rule', resourceName: `${this.#rulePrefix}*` });
    this.bus = new EventBus(this, 'Bus', { description: 'Tick requests and marks of Sluice' });
    new Rule(this, 'TickRequests', {
      eventBus: this.bus,
      eventPattern: { source: [EVENT_SOURCE], detailType: [TICK_DETAIL_TYPE] },
      targets: [new LambdaFunction(tick, TICK_DELIVERY)],
    });
    new Rule(this, 'Marks', {
      eventBus: this.bus,
      eventPattern: { detailType: [MARK_DETAIL_TYPE] },
      targets: [new LambdaFunction(ingest, { deadLetterQueue: undelivered })],
    });
    tick.addPermission('RulesOfFlows', {
      principal: new ServicePrincipal('events.amazonaws.com'),
      sourceArn: this.#ruleArns,
    });
  }

  /** Asks for ticks. */
  grantRequests(fn: SluiceFunction): void {
    this.bus.grantPutEventsTo(fn);
    fn.addEnvironment('SLUICE_EVENT_BUS', this.bus.eventBusName);
  }

  /** Starts and stops the rules of flows, which may invoke the tick function and nothing else. */
  grantRules(fn: SluiceFunction): void {
    const actions = ['PutRule', 'EnableRule', 'DisableRule', 'RemoveTargets', 'DeleteRule'];
    fn.addToRolePolicy(
      new PolicyStatement({ actions: actions.map((action) => `events:${action}`), resources: [this.#ruleArns] }),
    );
    fn.addToRolePolicy(
      new PolicyStatement({
        actions: ['events:PutTargets'],
        resources: [this.#ruleArns],
        // Without the second, no target at all would be every target.
        conditions: {
          'ForAllValues:ArnEquals': { 'events:TargetArn': this.#tick.functionArn },
          Null: { 'events:TargetArn': 'false' },
        },
      }),
    );
    fn.addEnvironment('SLUICE_RULE_PREFIX', this.#rulePrefix);
    fn.addEnvironment('SLUICE_TICK_FUNCTION_ARN', this.#tick.functionArn);
  }
}
