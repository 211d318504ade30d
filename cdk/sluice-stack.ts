import { CfnOutput, Duration, SecretValue, Stack, type StackProps } from 'aws-cdk-lib';
import { HttpApi } from 'aws-cdk-lib/aws-apigatewayv2';
import { HttpIamAuthorizer } from 'aws-cdk-lib/aws-apigatewayv2-authorizers';
import { HttpLambdaIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations';
import { SqsDestination } from 'aws-cdk-lib/aws-lambda-destinations';
import { Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';
import { FlowClock, TICK_DELIVERY } from './constructs/flow-clock.ts';
import { SluiceFunction } from './constructs/sluice-function.ts';
import { StateTable } from './constructs/state-table.ts';

export interface SluiceStackProps extends StackProps {
  /**
   * Secret whose string is a JSON object of connections, `{"default": "postgres://…"}`. It is resolved when the stack is
   * deployed, and stands in no template.
   */
  readonly connectionsSecret: string;
}

/** An HTTP API ends an integration after 30 seconds. */
const API_TIMEOUT = Duration.seconds(29);
/** The longest that one plan may hold its flow. */
const TICK_TIMEOUT = Duration.minutes(5);
const INGEST_TIMEOUT = Duration.minutes(1);

export class SluiceStack extends Stack {
  constructor(scope: Construct, id: string, { connectionsSecret, ...props }: SluiceStackProps) {
    super(scope, id, props);
    const state = new StateTable(this, 'State');
    const tick = new SluiceFunction(this, 'Tick', {
      name: 'tick',
      description: 'Runs one plan of one flow',
      timeout: TICK_TIMEOUT,
      memoryMb: 512,
      ...TICK_DELIVERY,
    });
    const api = new SluiceFunction(this, 'Api', {
      name: 'api',
      description: 'The HTTP API of Sluice',
      timeout: API_TIMEOUT,
      memoryMb: 1024,
    });
    const ingest = new SluiceFunction(this, 'Ingest', {
      name: 'ingest',
      description: 'Marks windows dirty that an event names',
      timeout: INGEST_TIMEOUT,
      memoryMb: 512,
    });
    const lostMarks = new Queue(this, 'LostMarks', {
      encryption: QueueEncryption.SQS_MANAGED,
      enforceSSL: true,
      retentionPeriod: Duration.days(14),
    });
    ingest.configureAsyncInvoke({ retryAttempts: 2, onFailure: new SqsDestination(lostMarks) });

    state.grantState(api);
    state.grantState(tick);
    state.grantMark(ingest);
    const clock = new FlowClock(this, 'Clock', { tick, ingest, undelivered: lostMarks });
    for (const fn of [api, tick]) clock.grantRequests(fn);
    clock.grantRules(api);
    const connections = SecretValue.secretsManager(connectionsSecret).unsafeUnwrap();
    for (const fn of [api, tick, ingest]) fn.addEnvironment('SLUICE_CONNECTIONS', connections);

    const http = new HttpApi(this, 'Http', {
      description: 'The API of Sluice',
      defaultIntegration: new HttpLambdaIntegration('Handler', api),
      defaultAuthorizer: new HttpIamAuthorizer(),
    });
    new CfnOutput(this, 'ApiUrl', { value: http.apiEndpoint });
    new CfnOutput(this, 'EventBusName', { value: clock.bus.eventBusName });
    new CfnOutput(this, 'StateTableName', { value: state.table.tableName });
  }
}
